#!/bin/sh
# Usage: install.sh [--from DIR_OR_ARCHIVE] [--prefix DIR] [--add-to-path]
#
# Installs the paddlet executable for the current user. No root is needed.
#   --from DIR_OR_ARCHIVE  the unpacked archive, or paddlet-VERSION-linux-ARCH.tar.gz. Default: this script's folder
#   --prefix DIR           installs DIR/bin/paddlet. Default: ~/.local
#   --add-to-path          adds DIR/bin to PATH in the start-up file of your shell
# Where a SHA256SUMS is in the folder, or beside the archive, the checksum must match.
# To uninstall, remove DIR/bin/paddlet.
set -eu

fail() { echo "install.sh: $*" >&2; exit 1; }
usage() { sed -n '2,10s/^# \{0,1\}//p' "$0"; }

from=$(dirname "$0")
prefix=${HOME:+$HOME/.local}
add_to_path=no
while [ $# -gt 0 ]; do
  case $1 in
    --from | --prefix)
      [ $# -ge 2 ] || { echo "install.sh: $1 needs a value" >&2; exit 2; }
      if [ "$1" = --from ]; then from=$2; else prefix=$2; fi
      shift
      ;;
    --add-to-path) add_to_path=yes ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; echo "install.sh: $1: no such option" >&2; exit 2 ;;
  esac
  shift
done
[ -n "$prefix" ] || fail 'HOME is not set; say where to install with --prefix DIR'
[ -e "$from" ] || fail "$from: no such file or folder"
if [ "$add_to_path" = yes ] && [ -z "${HOME:-}" ]; then fail 'HOME is not set; --add-to-path has no file to change'; fi

work=$(mktemp -d)
staged=
trap 'rm -rf "$work" ${staged:+"$staged"}' EXIT
trap 'exit 130' INT TERM

verify() { # verify FILE: against the SHA256SUMS beside it, where there is one
  folder=$(dirname "$1")
  name=$(basename "$1")
  if [ ! -e "$folder/SHA256SUMS" ]; then
    echo "not verified: there is no SHA256SUMS beside $1" >&2
    return 0
  fi
  command -v sha256sum >/dev/null || fail 'sha256sum, which verifies the checksum, is not installed'
  expected=$(awk -v name="$name" '$2 == name || $2 == "*" name { print $1 }' "$folder/SHA256SUMS")
  [ -n "$expected" ] || fail "$folder/SHA256SUMS has no checksum of $name"
  actual=$(sha256sum <"$1" | cut -d ' ' -f 1)
  [ "$actual" = "$expected" ] || fail "$1 is damaged: its checksum is $actual, not $expected"
}

# The architecture of this machine and of an executable (https://man7.org/linux/man-pages/man5/elf.5.html, e_machine).
machine_architecture() {
  case $(uname -s)-$(uname -m) in
    Linux-x86_64 | Linux-amd64) echo x64 ;;
    Linux-aarch64 | Linux-arm64) echo arm64 ;;
    *) uname -s -m ;;
  esac
}
architecture_of() { # architecture_of FILE
  case $(od -An -tx1 -N20 "$1" | tr -d ' \n') in
    7f454c46????????????????????????????3e00) echo x64 ;;
    7f454c46????????????????????????????b700) echo arm64 ;;
    *) echo unknown ;;
  esac
}

if [ -d "$from" ]; then
  program=$from/paddlet
  [ -f "$program" ] || fail "$from has no file named paddlet"
  verify "$program"
else
  verify "$from"
  tar -xzf "$from" -C "$work" || fail "$from is no archive of paddlet"
  program=$(find "$work" -type f -name paddlet)
  [ -f "$program" ] || fail "$from has no file named paddlet"
fi

machine=$(machine_architecture)
built_for=$(architecture_of "$program")
[ "$machine" = "$built_for" ] || fail "this paddlet is for $built_for, and this machine is $machine"

# Started before it takes the place of an older one. Renamed, since a running executable cannot be written to.
bin=$prefix/bin
mkdir -p "$bin"
bin=$(cd "$bin" && pwd)
staged=$bin/.paddlet.$$
cp "$program" "$staged"
chmod 755 "$staged"
version=$("$staged" --version) || fail "this paddlet does not start on this machine"
mv "$staged" "$bin/paddlet"
staged=
echo "installed $bin/paddlet: $version"

case ":${PATH:-}:" in
  *":$bin:"*) exit 0 ;;
esac
line="export PATH=\"$bin:\$PATH\""
case $(basename "${SHELL:-sh}") in
  bash) profile=${HOME:-}/.bashrc ;;
  zsh) profile=${ZDOTDIR:-${HOME:-}}/.zshrc ;;
  fish) profile=${HOME:-}/.config/fish/conf.d/paddlet.fish line="fish_add_path \"$bin\"" ;;
  *) profile=${HOME:-}/.profile ;;
esac
if [ "$add_to_path" = no ]; then
  echo "$bin is not on PATH. Add this line to $profile, or run install.sh again with --add-to-path:"
  echo "  $line"
  exit 0
fi
mkdir -p "$(dirname "$profile")"
if [ -f "$profile" ] && grep -qxF "$line" "$profile"; then
  echo "$profile puts $bin on PATH already; open a new terminal"
else
  printf '\n# Added by the installer of paddlet\n%s\n' "$line" >>"$profile"
  echo "added $bin to PATH in $profile; open a new terminal"
fi
