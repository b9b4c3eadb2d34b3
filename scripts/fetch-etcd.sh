#!/bin/sh
# Prints the path of an etcd binary for tests: PADDLET_TEST_ETCD, else etcd on PATH, else the Debian package unpacked into
# .cache/etcd (nothing is installed and no daemon is started).
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cache="$root/.cache/etcd"
cached="$cache/usr/bin/etcd"

if [ -n "${PADDLET_TEST_ETCD:-}" ]; then
  [ -x "$PADDLET_TEST_ETCD" ] || { echo "fetch-etcd: PADDLET_TEST_ETCD=$PADDLET_TEST_ETCD cannot be executed" >&2; exit 1; }
  echo "$PADDLET_TEST_ETCD"
  exit 0
fi
if command -v etcd 2>/dev/null; then exit 0; fi
if [ -x "$cached" ]; then echo "$cached"; exit 0; fi

if ! command -v apt-get >/dev/null || ! command -v dpkg >/dev/null; then
  echo 'fetch-etcd: no etcd on PATH and this is no Debian; install etcd or set PADDLET_TEST_ETCD' >&2
  exit 1
fi

# Unpacked beside and renamed, so that an interrupted run leaves nothing half done. World-readable: apt downloads as _apt.
mkdir -p "$root/.cache"
work=$(mktemp -d "$root/.cache/etcd.XXXXXX")
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
cd "$work"
packages='etcd-server etcd-client'
# shellcheck disable=SC2086
apt-get -qq download $packages >&2 || { apt-get -qq update >&2 && apt-get -qq download $packages >&2; }
for package in ./*.deb; do dpkg -x "$package" unpacked; done
[ -x unpacked/usr/bin/etcd ] || { echo 'fetch-etcd: the package holds no usr/bin/etcd' >&2; exit 1; }
rm -rf "$cache"
mv unpacked "$cache"
echo "$cached"
