#!/usr/bin/env bash
# Usage: scripts/fetch-node.sh [x64|arm64]
# Prints the folder of the Node that paddlet is pinned to (bin/node is in it), for this machine or for the architecture
# given. Version and hash are those of package-lock.json; npm installs the package into .cache/ the first time.
# Needs Node 20 or newer and npm on PATH.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
arch=${1:-$(node -p process.arch)}
cached=$root/.cache/node-$arch
lock=$(node "$root/scripts/setup/node-lock.cjs" "$root/package-lock.json" "$arch")

if [ -x "$cached/node_modules/node-linux-$arch/bin/node" ] && [ "$(cat "$cached/package-lock.json")" = "$lock" ]; then
  echo "$cached/node_modules/node-linux-$arch"
  exit 0
fi

# Installed beside and renamed, so that an interrupted run leaves nothing half done.
mkdir -p "$root/.cache"
work=$(mktemp -d "$root/.cache/node-$arch.XXXXXX")
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
printf '%s\n' "$lock" >"$work/package-lock.json"
node -p 'JSON.stringify(JSON.parse(process.argv[1]).packages[""])' "$lock" >"$work/package.json"
# npm has been seen to stall for good while it unpacks a package of this size (1 of 20 installs, with npm 11 on a busy
# machine), so it is given a limit and another try.
install() { timeout --foreground 300 npm ci --ignore-scripts --no-fund --no-audit --no-update-notifier >&2; }
(cd "$work" && { install || { [ $? = 124 ] && echo 'fetch-node: npm stalled; trying again' >&2 && install; }; })
rm -rf "$cached"
mv -T "$work" "$cached"
echo "$cached/node_modules/node-linux-$arch"
