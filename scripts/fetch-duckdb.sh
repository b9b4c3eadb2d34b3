#!/bin/sh
# Prints the folder that node_modules/@duckdb/node-api is in, for benchmarks. Version and hashes are those of
# scripts/bench/duckdb/package-lock.json; npm installs the packages into .cache/duckdb the first time.
# Needs Node 20 or newer and npm on PATH.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
wanted=$root/scripts/bench/duckdb
cached=$root/.cache/duckdb

if cmp -s "$wanted/package-lock.json" "$cached/package-lock.json"; then echo "$cached"; exit 0; fi

# Installed beside and renamed, so that an interrupted run leaves nothing half done.
mkdir -p "$root/.cache"
work=$(mktemp -d "$root/.cache/duckdb.XXXXXX")
trap 'rm -rf "$work"' EXIT
cp "$wanted/package.json" "$wanted/package-lock.json" "$work"
(cd "$work" && timeout 300 npm ci --ignore-scripts --no-fund --no-audit --no-update-notifier >&2)
rm -rf "$cached"
mv -T "$work" "$cached"
echo "$cached"
