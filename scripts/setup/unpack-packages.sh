#!/bin/sh
# Usage: scripts/setup/unpack-packages.sh FOLDER PACKAGE...
# Downloads Debian packages and unpacks them into FOLDER, which it replaces. Nothing is installed, no daemon is started
# and no root is needed.
set -eu

folder=$1
shift
if ! command -v apt-get >/dev/null || ! command -v dpkg >/dev/null; then
  echo "unpack-packages: $* come from Debian packages, and this system has no apt-get or dpkg" >&2
  exit 1
fi

# Unpacked beside and renamed, so that an interrupted run leaves nothing half done.
mkdir -p "$(dirname "$folder")"
work=$(mktemp -d "$folder.XXXXXX")
trap 'rm -rf "$work"' EXIT
folder=$(cd "$(dirname "$folder")" && pwd)/$(basename "$folder")
cd "$work"
# As root apt would download as another user, who may not write here.
download() { apt-get -qq -o APT::Sandbox::User=root download "$@" >&2; }
download "$@" || { apt-get -qq update >&2 && download "$@"; }
for package in ./*.deb; do dpkg -x "$package" unpacked; done
rm -rf "$folder"
mv unpacked "$folder"
