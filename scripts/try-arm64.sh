#!/usr/bin/env bash
# Usage: scripts/try-arm64.sh
# Runs the arm64 executable on an x64 machine: trains the same sync job with both executables, with one master, one
# pserver and one trainer. Succeeds when both models have the same digest. qemu and the arm64 libraries come from Debian
# packages, unpacked into .cache/. Emulated JavaScript is about 50 times slower, so the job is tiny: half a minute.
set -eu
case "${1:-}" in
  '') ;;
  -h | --help) sed -n '2,5s/^# //p' "$0"; exit 0 ;;
  *) echo "try-arm64: $1: no such option" >&2; exit 2 ;;
esac
source "$(dirname "$0")/setup.sh"

require_node
[ "$(node -p process.arch)" = x64 ] || { echo 'try-arm64: compares with x64, and this machine is not one' >&2; exit 1; }
install_packages
step 'npm run build, for x64 and arm64'
npm run --silent build
npx node scripts/build.ts --arch arm64

emulator=$PWD/.cache/arm64/usr/bin/qemu-aarch64-static
libraries=$PWD/.cache/arm64/usr/aarch64-linux-gnu
if [ ! -x "$emulator" ] || [ ! -d "$libraries" ]; then
  step 'qemu and the arm64 libraries'
  scripts/setup/unpack-packages.sh "$PWD/.cache/arm64" \
    qemu-user-static libc6-arm64-cross libstdc++6-arm64-cross libgcc-s1-arm64-cross
fi
x64=$PWD/dist/paddlet
arm64=("$emulator" -L "$libraries" "$PWD/dist/paddlet-arm64")

folder=$(mktemp -d)
leave() {
  local code=$? running
  running=$(jobs -pr)
  # shellcheck disable=SC2086
  [ -z "$running" ] || kill -KILL $running
  if [ $code != 0 ]; then tail -n 20 "$folder"/*.log >&2 || true; fi
  rm -rf "$folder"
}
trap leave EXIT
trap 'exit 130' INT TERM
cd "$folder"

"$x64" data synth --output synth --records 400 --test-records 100 --features 60 >synth.log
# 22 factors: sixteen, four and one at a time in the kernels.
# Emulated, a role may not renew its lease for many seconds, while it compiles.
cat >job.yaml <<JOB
name: try-arm64
data: { train: synth/train.libsvm, test: synth/test.libsvm, format: libsvm, recordsPerTask: 100 }
model: { type: fm, factors: 22, initStddev: 0.1 }
optimizer: { type: adam, learningRate: 0.05 }
training: { mode: sync, lanes: 2, passes: 2, batchSize: 25, seed: 1 }
cluster: { pservers: 1, trainers: 1, leaseTtl: 2m }
JOB

# train_with NAME COMMAND...: each role is started here, since an emulated process cannot start another one. The first
# role that fails ends it all.
train_with() {
  local name=$1 began=$SECONDS
  shift
  step "$("$@" --version)"
  mkdir "$name"
  export PADDLET_STORE=sqlite:$folder/$name/store.db
  start "$name-master" "$@" master job.yaml --data-dir "$folder" --cache-dir "$name/cache"
  start "$name-pserver" "$@" pserver --index 0 --dir "$name"
  start "$name-trainer" "$@" trainer --data-dir "$folder" --cache-dir "$name/cache"
  for _ in master pserver trainer; do wait -n; done
  digest=$("$x64" status --json | tr -d ' "' | grep -o 'modelDigest:[0-9a-f]*')
  echo "$digest ($((SECONDS - began)) s)"
}

start() { # start LOG COMMAND...
  local log=$1.log
  shift
  "$@" >"$log" 2>&1 &
}

train_with x64 "$x64"
expected=$digest
train_with arm64 "${arm64[@]}"
[ "$digest" = "$expected" ] || { echo 'try-arm64: the models differ' >&2; exit 1; }
echo 'both models are the same, bit for bit'
