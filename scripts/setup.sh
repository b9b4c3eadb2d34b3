# Sourced by train.sh and test.sh: makes everything they need, and nothing twice.
# Needs bash, Node 20 or newer and npm on PATH. scripts/fetch-node.sh installs the Node that paddlet runs on.

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
# Nothing here asks questions, and nothing may wait for an answer.
exec </dev/null

step() { printf '\n== %s\n' "$*"; }

# Without a home to write to, npm keeps its cache here.
if [ -z "${HOME:-}" ] || [ ! -w "${HOME:-/nonexistent}" ]; then
  mkdir -p "$PWD/.cache/home"
  export HOME="$PWD/.cache/home" npm_config_cache="$PWD/.cache/npm"
fi
export npm_config_update_notifier=false npm_config_fund=false npm_config_audit=false

require_node() {
  local major
  if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
    echo 'paddlet needs Node 20 or newer with npm: https://nodejs.org, or on Debian: apt-get install nodejs npm' >&2
    return 1
  fi
  major=$(node -p 'process.versions.node.split(".")[0]')
  if [ "$major" -lt 20 ]; then
    echo "paddlet needs Node 20 or newer; this is $(node --version)" >&2
    return 1
  fi
}

# Installs exactly what package-lock.json says, unless that was done already. npm runs on the Node that paddlet is
# pinned to: under an older one it warns about each package that asks for a newer one. No package needs its install
# script.
install_packages() {
  local done=node_modules/.paddlet-installed node_folder quiet=()
  if [ -d node_modules ] && cmp -s package-lock.json "$done"; then return 0; fi
  step 'npm ci (usually about a minute, in which npm says nothing)'
  node_folder=$(scripts/fetch-node.sh) || return 1
  # assemblyscript asks for npm 10, but installs with npm 9, which Debian 13 has.
  if [ "$(npm --version | cut -d. -f1)" -lt 10 ]; then quiet=(--loglevel=error); fi
  PATH="$node_folder/bin:$PATH" npm ci --ignore-scripts ${quiet[@]+"${quiet[@]}"} && cp package-lock.json "$done"
}
