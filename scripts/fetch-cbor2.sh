#!/bin/sh
# Prints the folder that python3 finds its package cbor2 in, for PYTHONPATH: PADDLET_TEST_CBOR2, else where it is
# installed, else that of the Debian package unpacked into .cache/cbor2 (nothing is installed).
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cache="$root/.cache/cbor2"
cached="$cache/usr/lib/python3/dist-packages"

command -v python3 >/dev/null || { echo 'fetch-cbor2: there is no python3' >&2; exit 1; }
if [ -n "${PADDLET_TEST_CBOR2:-}" ]; then
  [ -d "$PADDLET_TEST_CBOR2/cbor2" ] || {
    echo "fetch-cbor2: there is no cbor2 in PADDLET_TEST_CBOR2=$PADDLET_TEST_CBOR2" >&2
    exit 1
  }
  echo "$PADDLET_TEST_CBOR2"
  exit 0
fi
python3 -c 'import cbor2, os; print(os.path.dirname(os.path.dirname(cbor2.__file__)))' 2>/dev/null && exit 0
[ -d "$cached/cbor2" ] || "$root/scripts/setup/unpack-packages.sh" "$cache" python3-cbor2 || {
  echo 'fetch-cbor2: install the Python package cbor2 or set PADDLET_TEST_CBOR2' >&2
  exit 1
}
# Its part in C is for Debian's own Python; any other one takes the part in Python.
PYTHONPATH="$cached" python3 -c 'import cbor2' || { echo 'fetch-cbor2: python3 cannot use the package' >&2; exit 1; }
echo "$cached"
