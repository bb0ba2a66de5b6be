# Sourced by the scripts. Finds or fetches uv, Python 3.14 and virtual environments.
# Everything lands in the cache (.cache of the checkout, or $HOME_AGENT_CACHE); the system is left alone.

set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cache=${HOME_AGENT_CACHE:-$root/.cache}
export HOME_AGENT_CACHE=$cache
export UV_CACHE_DIR=${UV_CACHE_DIR:-$cache/uv}
export UV_PYTHON_INSTALL_DIR=$cache/python
if [[ -s /etc/ssl/certs/ca-certificates.crt ]]; then # trust whom the system trusts, a company's proxy for one
  export UV_SYSTEM_CERTS=${UV_SYSTEM_CERTS:-1}
  export NODE_EXTRA_CA_CERTS=${NODE_EXTRA_CA_CERTS:-/etc/ssl/certs/ca-certificates.crt}
fi
unset PYTHONDONTWRITEBYTECODE PYTHONHOME VIRTUAL_ENV

ha_unit=2026.10.4   # the release that the unit tests run on
ha_latest=2026.11.0 # the newest release supported
debian_python=$cache/debian-python

source "$root/scripts/lib/debian.sh"

say() { printf '· %s\n' "$*" >&2; }
die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# --- uv

ensure_uv() {
  [[ -z ${uv:-} ]] || return 0
  find_uv || {
    say "fetching uv"
    fetch_uv && find_uv
  } || die "uv is missing and could not be fetched. Install it (your package manager may have it) or pip, and run this again."
}

find_uv() {
  local candidate
  for candidate in "$cache/tools/bin/uv" uv; do
    if "$candidate" --version >/dev/null 2>&1; then
      uv=$candidate
      return
    fi
  done
  return 1
}

fetch_uv() {
  local pip wheel
  for pip in "python3 -m pip" "pip3" "$cache/pip/bin/python -m pip"; do
    [[ $pip != "$cache"/* ]] || python3 -m venv "$cache/pip" >/dev/null 2>&1 || continue
    $pip install -q --disable-pip-version-check --target "$cache/tools" --upgrade uv >/dev/null 2>&1 && return
  done
  # Debian without python3-pip and python3-venv: pip runs from the wheel that Debian packages
  debian_unpack "$cache/debian-pip" python3-pip-whl || return
  for wheel in "$cache"/debian-pip/usr/share/python-wheels/pip-*.whl; do
    python3 "$wheel/pip" install -q --disable-pip-version-check --target "$cache/tools" --upgrade uv && return
  done
  return 1
}

# --- Python 3.14

ensure_python() {
  [[ -z ${python:-} ]] || return 0
  ensure_uv
  find_python || {
    say "fetching Python 3.14"
    fetch_python && find_python
  } || die "Python 3.14.2 or newer is missing. Install it (python3.14 with its venv and development files) and run this again."
}

find_python() {
  local candidate
  for candidate in "$debian_python/usr/bin/python3.14" \
    "$("$uv" python find --no-project --no-python-downloads '>=3.14.2,<3.15' 2>/dev/null || true)"; do
    if python_works "$candidate"; then
      python=$candidate
      return
    fi
  done
  return 1
}

python_works() {
  [[ -x $1 ]] && "$1" -c 'import ctypes, lzma, sqlite3, ssl, sys, zlib
sys.exit(not (3, 14, 2) <= sys.version_info < (3, 15))' >/dev/null 2>&1
}

fetch_python() {
  UV_HTTP_RETRIES=0 "$uv" python install -q 3.14 >/dev/null 2>&1 && return
  say "uv has none for this machine; taking it from Debian testing"
  debian_unpack "$debian_python" python3.14 python3.14-dev && debian_bind "$debian_python" usr/bin/python3.14
}

# --- virtual environments

# ensure_venv NAME REQUIREMENTS...: the environment .cache/NAME, made anew when a requirements file has changed.
ensure_venv() {
  local name=$1 venv=$cache/$1 stamp
  shift
  stamp=$(cat "$@" | cksum)
  if [[ $(cat "$venv/.stamp" 2>/dev/null) == "$stamp" ]] && python_works "$venv/bin/python"; then return; fi
  ensure_python
  say "making the environment $name (a minute or two the first time)"
  "$uv" venv -q --no-project --clear -p "$python" "$venv"
  install_requirements "$venv" "$@"
  echo "$stamp" >"$venv/.stamp"
}

# Two audio packages of Home Assistant's voice pipeline have no wheels for Python 3.14. Without a compiler they are
# replaced by stand-ins that say so when somebody speaks: the written conversation does not need them.
install_requirements() {
  local venv=$1 file=$1/requirements.txt audio='^(pymicro-vad|pyspeex-noise)==' base include
  shift
  cat "$@" >"$file"
  read -r base include < <("$venv/bin/python" -c 'import sys, sysconfig; print(sys.base_prefix, sysconfig.get_path("include"))')
  if ! command -v c++ >/dev/null || [[ ! -f $include/Python.h ]]; then
    sed -Ei "/$audio/d" "$file"
    cp "$root"/scripts/lib/audio_stand_ins/*.py "$venv"/lib/python3.14/site-packages/
  fi
  CFLAGS="-I$base/include" CXXFLAGS="-I$base/include" \
    "$uv" pip install -q --no-config --no-deps -p "$venv/bin/python" -r "$file" || die "the packages of ${venv##*/} could not be installed"
}

# ensure_tests VERSION: sets `test_python` to that of the environment for the unit tests on this release.
ensure_tests() {
  local name=test-$1
  [[ $1 != "$ha_unit" ]] || name=test
  [[ -f $root/requirements/$name.txt ]] || die "requirements/$name.txt is missing: the unit tests do not run on $1"
  ensure_venv "$name" "$root/requirements/$name.txt"
  test_python=$cache/$name/bin/python
}

# ensure_home_assistant VERSION: the environment .cache/ha-VERSION with everything that the demo house needs.
ensure_home_assistant() {
  local pins=$root/requirements/ha-$1.txt
  if [[ ! -f $pins ]]; then
    pins=$cache/ha-$1.txt
    [[ -s $pins ]] || lock_home_assistant "$1" "$pins" || die "there is no Home Assistant $1 to install"
  fi
  ensure_venv "ha-$1" "$pins"
}

# lock_home_assistant VERSION FILE: pins Home Assistant and what requirements/integrations.in names, under its own constraints.
lock_home_assistant() {
  local version=$1 out=$2 work=$cache/lock-$1
  ensure_python
  say "resolving the packages of Home Assistant $version"
  "$uv" venv -q --no-project --clear -p "$python" "$work"
  "$uv" pip install -q --no-deps -p "$work/bin/python" "homeassistant==$version" || return
  {
    echo "homeassistant==$version"
    "$work/bin/python" "$root/scripts/lib/manifest_requirements.py" "$root/requirements/integrations.in"
  } >"$work/ha.in"
  "$uv" pip compile -q --no-config --no-header --no-annotate --no-emit-index-url --no-emit-find-links --universal --python-version 3.14.2 -p "$work/bin/python" \
    -c "$("$work/bin/python" "$root/scripts/lib/manifest_requirements.py" --constraints)" -o "$out" "$work/ha.in" >/dev/null
  rm -rf "$work"
}
