#!/bin/sh
# Prints the path of a Chromium for tests: PADDLET_TEST_CHROMIUM, else chromium on PATH, else a script that runs the
# Debian package unpacked into .cache/chromium, with the libraries and fonts that this machine lacks (nothing is
# installed).
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cache="$root/.cache/chromium"
cached="$cache/run-chromium"

if [ -n "${PADDLET_TEST_CHROMIUM:-}" ]; then
  "$PADDLET_TEST_CHROMIUM" --version >/dev/null 2>&1 || {
    echo "fetch-chromium: PADDLET_TEST_CHROMIUM=$PADDLET_TEST_CHROMIUM does not run" >&2
    exit 1
  }
  echo "$PADDLET_TEST_CHROMIUM"
  exit 0
fi
if command -v chromium 2>/dev/null; then exit 0; fi
if [ -x "$cached" ] && "$cached" --version >/dev/null 2>&1; then echo "$cached"; exit 0; fi

fail() { echo "fetch-chromium: $1: install chromium or set PADDLET_TEST_CHROMIUM" >&2; exit 1; }
command -v apt-get >/dev/null || fail 'it comes from a Debian package, and there is no apt-get'
# What would be installed: chromium and all that it needs and that is missing. Another C library than the machine's
# would not fit its loader.
missing() {
  apt-get -qq -s -o Debug::NoLocking=true install --no-install-recommends chromium |
    sed -n 's/^Inst \([^ ]*\) .*/\1/p' | grep -v -x -e 'libc6.*' -e libc-bin
}
packages=$(missing 2>/dev/null) || { apt-get -qq update >&2 && packages=$(missing); } || fail 'there is no such package'
# shellcheck disable=SC2086
"$root/scripts/setup/unpack-packages.sh" "$cache" $packages || fail 'its packages cannot be had'

# Relative to the folder of the script, which may be moved.
libraries=$(cd "$cache" && find . -name '*.so*' -exec dirname {} \; | sort -u | sed 's/^\./$here/' | tr '\n' ':')
cat >"$cache/fonts.conf" <<END
<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir prefix="relative">usr/share/fonts</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
  <alias><family>monospace</family><prefer><family>DejaVu Sans Mono</family></prefer></alias>
  <match>
    <test qual="all" name="family" compare="not_eq"><string>monospace</string></test>
    <edit name="family" mode="append_last"><string>DejaVu Sans</string></edit>
  </match>
</fontconfig>
END
cat >"$cached.draft" <<END
#!/bin/sh
here=\$(CDPATH='' cd -- "\$(dirname -- "\$0")" && pwd)
export LD_LIBRARY_PATH="$libraries" FONTCONFIG_FILE="\$here/fonts.conf"
exec "\$here/usr/lib/chromium/chromium" "\$@"
END
chmod +x "$cached.draft"
mv "$cached.draft" "$cached"
"$cached" --version >/dev/null || fail 'the unpacked Chromium does not run'
echo "$cached"
