#!/bin/sh
# Prints the path of an etcd binary for tests: PADDLET_TEST_ETCD, else etcd on PATH, else the Debian package unpacked
# into .cache/etcd (nothing is installed and no daemon is started).
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

"$root/scripts/setup/unpack-packages.sh" "$cache" etcd-server etcd-client || {
  echo 'fetch-etcd: install etcd or set PADDLET_TEST_ETCD' >&2
  exit 1
}
[ -x "$cached" ] || { echo 'fetch-etcd: the package holds no usr/bin/etcd' >&2; exit 1; }
echo "$cached"
