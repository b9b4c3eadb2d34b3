#!/usr/bin/env bash
# Usage: scripts/nightly.sh [--list] [STEP...]
# Everything that takes too long for each commit, or only the steps named. Logs are in build/nightly/STEP.log.
# The last line is `N passed, N failed, N skipped`, of steps. A step is skipped where the machine lacks what it needs,
# and the reason is printed. A step that takes longer than 20 minutes is ended, and has failed: what has no end by
# itself goes on in the next night where it stopped (.cache/nightly), and prints what it tried.
#   NIGHTLY_MINUTES  of each simulation, of mutations, property tests and goodput. Default: 15
#   CHAOS_FAULTS     faults of each chaos run. Default: 50
#   CHAOS_MOVES      units that move in each chaos run of moves. Default: 100
set -u
simulations() {
  local mode kind
  for kind in '' -disks -continued -evaluated -deltas -copies -copies-disks -copies-continued -copies-evaluated \
    -copies-deltas; do
    for mode in async sync; do echo "sim-$mode$kind"; done
  done
}
# Each file of these tests is a step.
nightly_tests() {
  local file
  for file in $(cd "$(dirname "$0")/.." && find test -name '*.nightly.test.ts' | sort); do
    file=${file##*/}
    [ "$file" = partitions.nightly.test.ts ] || echo "test-${file%.nightly.test.ts}"
  done
}
in_both_modes() { for name in "$@"; do echo "$name-async $name-sync"; done; }
steps=$(echo $(simulations) properties mutations move-model-moves move-model-updates \
  $(in_both_modes chaos-etcd chaos-sqlite moves-etcd moves-sqlite) $(nightly_tests) \
  $(in_both_modes copies-killed copies-killed-at-once copies-resized) partitions \
  failover failover-by-lease failover-at-once failover-etcd goodput $(in_both_modes hostile heap heap-mlp) sync-digests bench \
  coverage arm64 bare)
# In a process of its own, which is ended with all that it has started.
chosen=$*
if [ "${1:-}" = --one ]; then chosen=$2; fi
case "${1:-}" in
  --list) echo "$steps"; exit 0 ;;
  -h | --help) sed -n '2,11s/^# \{0,1\}//p' "$0"; echo "Steps: $steps"; exit 0 ;;
esac
for step in $chosen; do
  case " $steps " in *" $step "*) ;; *) echo "nightly: no step $step; the steps are: $steps" >&2; exit 2 ;; esac
done
source "$(dirname "$0")/setup.sh"

# The exit code of a step that the machine cannot run, as of automake's tests.
SKIP=77
MINUTES=${NIGHTLY_MINUTES:-15}
skip() { echo "skipped: $*"; return $SKIP; }
need_etcd() {
  PADDLET_TEST_ETCD=$(scripts/fetch-etcd.sh) || skip 'there is no etcd'
  export PADDLET_TEST_ETCD
}
need_browser() {
  PADDLET_TEST_CHROMIUM=$(scripts/fetch-chromium.sh) || skip 'there is no Chromium'
  export PADDLET_TEST_CHROMIUM
}
need_prometheus() {
  PADDLET_TEST_PROMETHEUS=$(scripts/fetch-prometheus.sh) || skip 'there is no Prometheus'
  export PADDLET_TEST_PROMETHEUS
}
# Both go on where the last night stopped.
run_sim() { npx node scripts/sim.ts --minutes "$MINUTES" --go-on ".cache/nightly/$step" "$@"; }
run_mutations() { npx node scripts/mutations.ts --minutes "$MINUTES" --go-on ".cache/nightly/$step"; }
# All property tests, each property under some seeds at a time.
run_properties() {
  local until=$((SECONDS + MINUTES * 60)) files
  export PADDLET_PROPERTY_SEEDS=3
  files=$(grep -rl "/properties.ts'" test --include=*.test.ts)
  while [ $SECONDS -lt $until ]; do
    export PADDLET_PROPERTY_SEED=$((RANDOM * 32768 + RANDOM))
    echo "PADDLET_PROPERTY_SEED=$PADDLET_PROPERTY_SEED PADDLET_PROPERTY_SEEDS=$PADDLET_PROPERTY_SEEDS"
    npx vitest run --project 'unit*' --reporter=dot $files
  done
}
run_chaos() { npx node scripts/chaos/chaos.ts --mode "$mode" --faults "${CHAOS_FAULTS:-50}" "$@"; }
# Units move while the roles die.
run_moves() { run_chaos --moves "${CHAOS_MOVES:-100}" --passes 60 "$@"; }
run_copies() { npx node scripts/chaos/copies.ts --mode "$mode" "$@"; }
run_test() { npx vitest run --project nightly "/$1.nightly.test.ts"; }
run_failover() { npx node scripts/bench/failover.ts "$@"; }
# Steps run under `set -e` in a shell of their own.
run_step() {
  local mode=async
  case $1 in sim-sync* | *-sync) mode=sync ;; esac
  case $1 in
    sim-*-copies-disks) run_sim --mode=$mode --replicas --disks ;;
    sim-*-copies-continued) run_sim --mode=$mode --replicas --continued ;;
    sim-*-copies-evaluated) run_sim --mode=$mode --replicas --evaluated ;;
    sim-*-copies-deltas) run_sim --mode=$mode --replicas --disks --deltas ;;
    sim-*-copies) run_sim --mode=$mode --replicas ;;
    sim-*-disks) run_sim --mode=$mode --disks ;;
    sim-*-continued) run_sim --mode=$mode --continued ;;
    sim-*-deltas) run_sim --mode=$mode --disks --deltas ;;
    sim-*-evaluated) run_sim --mode=$mode --evaluated ;;
    sim-*) run_sim --mode=$mode ;;
    properties) run_properties ;;
    mutations) run_mutations ;;
    move-model-moves) npx node --max-old-space-size=6000 scripts/move-model.ts --moves 2 --lost-answers 1 --abandons 1 ;;
    move-model-updates) npx node --max-old-space-size=6000 scripts/move-model.ts --updates 2 --crashes 1 ;;
    chaos-etcd-*) need_etcd; run_chaos --store etcd ;;
    chaos-sqlite-*) run_chaos --store sqlite ;;
    moves-etcd-*) need_etcd; run_moves --store etcd ;;
    moves-sqlite-*) run_moves --store sqlite ;;
    test-browser) need_etcd; need_browser; run_test browser ;;
    test-prometheus) need_etcd; need_prometheus; run_test prometheus ;;
    test-page | test-real-page) need_browser; run_test "${1#test-}" ;;
    test-*) need_etcd; run_test "${1#test-}" ;;
    copies-killed-at-once-*) run_copies --replicas 3 --at-once 2 ;;
    copies-killed-*) run_copies ;;
    copies-resized-*) run_copies --pservers 2 --resize 4,3 --kills 0 ;;
    partitions)
      need_etcd
      [ "$(id -u)" = 0 ] || skip 'it needs root, for network namespaces'
      command -v ip && command -v iptables || skip 'there is no ip (iproute2) or no iptables'
      export PADDLET_TEST_PARTITIONS=all
      run_test partitions
      ;;
    failover) run_failover --kills 100 ;;
    failover-by-lease) run_failover --kills 20 --proof none ;;
    failover-at-once) run_failover --kills 30 --replicas 3 --at-once 2 ;;
    failover-etcd) need_etcd; run_failover --kills 50 --store etcd ;;
    goodput) npx node scripts/bench/goodput.ts --minutes "$MINUTES" ;;
    hostile-*) npx node scripts/hostile/hostile.ts --mode "$mode" --seconds 60 ;;
    heap-mlp-*) npx node scripts/bench/trainer-heap.ts --mode "$mode" --model mlp ;;
    heap-*) npx node scripts/bench/trainer-heap.ts --mode "$mode" ;;
    sync-digests)
      [ -d ../shared/data ] || skip 'the data sets are not in ../shared/data'
      need_etcd
      npx node scripts/sync-digests.ts
      ;;
    bench) npm run --silent bench ;;
    coverage) npm run --silent coverage ;;
    arm64)
      [ "$(uname -m)" = x86_64 ] || skip 'it compares arm64 with x64, and this machine is not x64'
      command -v apt-get || skip 'qemu comes from a Debian package, and there is no apt-get'
      scripts/try-arm64.sh
      ;;
    bare)
      [ "$(id -u)" = 0 ] || skip 'it needs root, for chroot'
      scripts/try-bare.sh
      ;;
  esac
}

if [ "${1:-}" = --one ]; then
  set -e
  run_step "$step"
  exit
fi
require_node && install_packages && npm run --silent build || { printf '\n0 passed, 1 failed, 0 skipped\n'; exit 1; }
logs=build/nightly
mkdir -p "$logs"
passed=0 failed=0 skipped=0
for step in ${chosen:-$steps}; do
  step "$step"
  began=$SECONDS
  timeout --kill-after=60 20m scripts/nightly.sh --one "$step" >"$logs/$step.log" 2>&1
  code=$?
  case $code in
    0) passed=$((passed + 1)) result=passed ;;
    "$SKIP") skipped=$((skipped + 1)) result=skipped ;;
    124 | 137) failed=$((failed + 1)) result='FAILED: ended' ;;
    *) failed=$((failed + 1)) result="FAILED with $code" ;;
  esac
  tail -n "$([ "$code" = 0 ] && echo 3 || echo 40)" "$logs/$step.log"
  echo "$step $result after $((SECONDS - began)) s; log in $logs/$step.log"
done
printf '\n%s passed, %s failed, %s skipped\n' "$passed" "$failed" "$skipped"
[ "$failed" = 0 ]
