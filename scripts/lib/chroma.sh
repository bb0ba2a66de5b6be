# Sourced by the scripts. Chroma servers for the tests and benchmarks, each in an environment of its own in the cache.

chroma_versions=${CHROMA_VERSIONS:-1.5.9} # 0.6.3 and 1.0.21 are known to work as well

# ensure_chroma: installs the versions and sets HOME_AGENT_CHROMA to their programs, separated by colons.
ensure_chroma() {
  local version programs=()
  for version in $chroma_versions; do
    programs+=("$cache/chroma-$version/bin/chroma")
    [[ -x ${programs[-1]} && -f $cache/chroma-$version/.complete ]] || install_chroma "$version" ||
      die "Chroma $version could not be installed"
  done
  HOME_AGENT_CHROMA=$(IFS=: && echo "${programs[*]}")
  export HOME_AGENT_CHROMA
}

install_chroma() {
  local version=$1 venv=$cache/chroma-$1
  ensure_python
  say "fetching Chroma $version"
  if [[ $version == 0.* ]]; then # written in Python, for older ones
    "$uv" venv -q --no-project --clear -p 3.11 "$venv" &&
      "$uv" pip install -q --no-config -p "$venv/bin/python" "chromadb==$version" || return
  else # one program in the package; what else it needs is for its client
    "$uv" venv -q --no-project --clear -p "$python" "$venv" &&
      "$uv" pip install -q --no-config --no-deps -p "$venv/bin/python" "chromadb==$version" || return
    cat >"$venv/bin/chroma" <<EOF
#!$venv/bin/python
import sys
import chromadb_rust_bindings
chromadb_rust_bindings.cli(["chroma", *sys.argv[1:]])
EOF
    chmod +x "$venv/bin/chroma"
  fi
  touch "$venv/.complete"
}
