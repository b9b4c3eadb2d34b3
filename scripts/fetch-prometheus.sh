#!/bin/sh
# Prints the folder that has prometheus and promtool for tests: PADDLET_TEST_PROMETHEUS, else that of PATH, else that of
# the Debian package unpacked into .cache/prometheus (nothing is installed and no daemon is started).
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cache="$root/.cache/prometheus"
cached="$cache/usr/bin"

if [ -n "${PADDLET_TEST_PROMETHEUS:-}" ]; then
  [ -x "$PADDLET_TEST_PROMETHEUS/prometheus" ] && [ -x "$PADDLET_TEST_PROMETHEUS/promtool" ] || {
    echo "fetch-prometheus: there is no prometheus or no promtool in $PADDLET_TEST_PROMETHEUS" >&2
    exit 1
  }
  echo "$PADDLET_TEST_PROMETHEUS"
  exit 0
fi
if found=$(command -v prometheus) && command -v promtool >/dev/null; then dirname "$found"; exit 0; fi
if [ -x "$cached/prometheus" ]; then echo "$cached"; exit 0; fi

"$root/scripts/setup/unpack-packages.sh" "$cache" prometheus || {
  echo 'fetch-prometheus: install prometheus or set PADDLET_TEST_PROMETHEUS' >&2
  exit 1
}
[ -x "$cached/prometheus" ] && [ -x "$cached/promtool" ] || {
  echo 'fetch-prometheus: the package holds no usr/bin/prometheus or no usr/bin/promtool' >&2
  exit 1
}
# Its web pages are links to other packages, which lead nowhere here.
rm -rf "$cache/usr/share"
echo "$cached"
