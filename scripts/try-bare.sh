#!/usr/bin/env bash
# Usage: scripts/try-bare.sh [--quick | --tests 'PATH...'] [--as root|user] [--suite NAME]
# In a minimal Debian root without git, python3 and gcc, runs scripts/train.sh and scripts/test.sh on the files of HEAD,
# first as root, then as a user without rights. Both must succeed. Needs root (chroot) and access to Debian's and npm's
# registries; Node and npm are copied from this machine. The whole of it takes an hour or so.
#   --quick            in place of scripts/test.sh only the tests of the scripts, the executable and its installer
#   --tests 'PATH...'  in place of scripts/test.sh only these tests
#   --as root|user     only as root, or only as a user
#   --suite NAME       Debian's release. Default: bookworm
set -eu
cd "$(dirname "$0")/.."

tests='' users='root user' suite=bookworm
while [ $# -gt 0 ]; do
  case $1 in
    --quick) tests='test/scripts test/executable/executable.test.ts test/executable/install.nightly.test.ts' ;;
    --tests) tests=$2; shift ;;
    --as) users=$2; shift ;;
    --suite) suite=$2; shift ;;
    -h | --help) sed -n '2,9s/^# //p' "$0"; exit 0 ;;
    *) echo "try-bare: $1: no such option" >&2; exit 2 ;;
  esac
  shift
done
[ "$(id -u)" = 0 ] || { echo 'try-bare: needs root, for chroot' >&2; exit 1; }
for user in $users; do
  case $user in root | user) ;; *) echo "try-bare: --as $user: expected root or user" >&2; exit 2 ;; esac
done

mmdebstrap=$(command -v mmdebstrap || echo "$PWD/.cache/mmdebstrap/usr/bin/mmdebstrap")
[ -x "$mmdebstrap" ] || scripts/setup/unpack-packages.sh .cache/mmdebstrap mmdebstrap

root=$(mktemp -d)
chmod 755 "$root"
trap 'rm -rf "$root"' EXIT
trap 'exit 130' INT TERM

echo "== a minimal $suite in $root"
"$mmdebstrap" --quiet --variant=minbase "$suite" "$root"
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
# Where a proxy signs the traffic, Node trusts it there too.
certificates=${NODE_EXTRA_CA_CERTS:+/etc/extra-certificates.pem}
if [ -n "$certificates" ]; then cp -L "$NODE_EXTRA_CA_CERTS" "$root$certificates"; fi
cp -L "$(command -v node)" "$root/usr/local/bin/node"
mkdir -p "$root/usr/local/lib/node_modules"
cp -a "$(dirname "$(dirname "$(readlink -f "$(command -v npm)")")")" "$root/usr/local/lib/node_modules/npm"
for name in npm npx; do ln -s "../lib/node_modules/npm/bin/$name-cli.js" "$root/usr/local/bin/$name"; done
chroot "$root" useradd --create-home user
for command in git python3 gcc cc make; do
  ! chroot "$root" sh -c "command -v $command" || { echo "try-bare: the root has $command" >&2; exit 1; }
done

# in_root USER COMMAND...: in the user's checkout. The mounts and all processes end with the command.
in_root() {
  local user=$1 home
  shift
  home=$(chroot "$root" sh -c "echo ~$user")
  # shellcheck disable=SC2016
  unshare --mount --pid --fork --kill-child sh -c '
    mount --rbind /dev "$1/dev" && mount -t proc proc "$1/proc" || exit 1
    root=$1 user=$2 home=$3 certificates=$4
    shift 4
    exec chroot --userspec="$user" "$root" env -i PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin HOME="$home" NODE_EXTRA_CA_CERTS="$certificates" \
      npm_config_update_notifier=false \
      sh -c "cd ~/paddlet && exec \"\$@\"" sh "$@"
  ' sh "$root" "$user" "$home" "$certificates" "$@"
}

for user in $users; do
  home=$(chroot "$root" sh -c "echo ~$user")
  mkdir "$root$home/paddlet"
  git archive HEAD | tar -xf - -C "$root$home/paddlet"
  chroot "$root" chown -R "$user:" "$home/paddlet"
  echo "== $user: scripts/train.sh"
  in_root "$user" scripts/train.sh
  if [ -z "$tests" ]; then
    echo "== $user: scripts/test.sh"
    in_root "$user" scripts/test.sh
  else
    echo "== $user: vitest run $tests"
    # shellcheck disable=SC2086
    in_root "$user" npx vitest run $tests
  fi
  # The disk is not asked for two checkouts at a time.
  rm -rf "$root$home/paddlet"
done
echo 'succeeded'
