# Sourced by the scripts. A Chromium, the library that drives it, and the one that looks for barriers, for the tests in
# the browser.

playwright_version=1.65.1
axe_version=4.14.1

# ensure_browser: sets `browser` and `playwright`, or says what is missing and returns 1.
ensure_browser() {
  local tool
  for tool in node npm; do
    command -v $tool >/dev/null || install_system_packages nodejs npm || {
      say "no browser tests: install Node.js with npm, or run as root on Debian"
      return 1
    }
  done
  find_browser || { install_system_packages chromium fonts-dejavu-core && find_browser; } || {
    say "no browser tests: install Chromium, or run as root on Debian"
    return 1
  }
  playwright=$cache/browser-$playwright_version
  if [[ ! -d $playwright/node_modules/playwright-core || ! -d $playwright/node_modules/axe-core ]]; then
    say "fetching playwright-core $playwright_version and axe-core $axe_version"
    mkdir -p "$playwright"
    npm install --silent --no-audit --no-fund --prefix "$playwright" "playwright-core@$playwright_version" "axe-core@$axe_version" >/dev/null || {
      say "playwright-core or axe-core could not be fetched"
      return 1
    }
  fi
}

find_browser() {
  local name
  for name in chromium chromium-browser google-chrome google-chrome-stable chrome; do
    if browser=$(command -v "$name"); then return; fi
  done
  return 1
}

install_system_packages() {
  [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null || return
  say "installing $*"
  { apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "$@"; } >/dev/null 2>&1
}
