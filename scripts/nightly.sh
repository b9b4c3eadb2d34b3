#!/usr/bin/env bash
# Usage: scripts/nightly.sh [--list] [STEP...]
# Everything that takes too long for each commit, or only the steps named. Logs are in build/nightly/STEP.log.
# The last line is `N passed, N failed, N skipped`, of steps. A step is skipped where the machine lacks what it needs,
# and the reason is printed. It takes about four hours and a half.
#   SIM_SEEDS     seeds of the simulation. Default: 0..2000
#   CHAOS_FAULTS  faults of each chaos run. Default: 50
#   CHAOS_MOVES   units that move in each chaos run of moves. Default: 100
set -u
steps='sim-async sim-sync sim-disks sim-sync-disks sim-continued sim-copies sim-copies-disks sim-copies-continued move-model mutations chaos-etcd chaos-sqlite moves-etcd moves-sqlite processes copies-killed partitions failover goodput hostile sync-digests bench coverage arm64 bare'
case "${1:-}" in
  --list) echo "$steps"; exit 0 ;;
  -h | --help) sed -n '2,8s/^# //p' "$0"; echo "Steps: $steps"; exit 0 ;;
esac
for step in "$@"; do
  case " $steps " in *" $step "*) ;; *) echo "nightly: no step $step; the steps are: $steps" >&2; exit 2 ;; esac
done
source "$(dirname "$0")/setup.sh"

# The exit code of a step that the machine cannot run, as of automake's tests.
SKIP=77
skip() { echo "skipped: $*"; return $SKIP; }
# Units move while the roles die, in both modes.
run_moves() { for mode in async sync; do run_chaos --mode "$mode" --moves "${CHAOS_MOVES:-100}" --passes 60 "$@"; done; }
# Steps run under `set -e` in a shell of their own.
run_sim() { npx node scripts/sim.ts --seeds "${SIM_SEEDS:-0..2000}" "$@"; }
run_chaos() { npx node scripts/chaos/chaos.ts --faults "${CHAOS_FAULTS:-50}" "$@"; }
run_step() {
  case $1 in
    sim-async) run_sim --mode=async ;;
    sim-sync) run_sim --mode=sync ;;
    sim-disks) run_sim --disks ;;
    sim-continued) run_sim --continued && run_sim --continued --mode=sync ;;
    sim-sync-disks) run_sim --mode=sync --disks ;;
    sim-copies) for mode in async sync; do run_sim --replicas --mode=$mode; done ;;
    sim-copies-disks) for mode in async sync; do run_sim --replicas --disks --mode=$mode; done ;;
    sim-copies-continued) for mode in async sync; do run_sim --replicas --continued --mode=$mode; done ;;
    move-model)
      for shape in '--moves 2 --lost-answers 1 --abandons 1' '--updates 2 --crashes 1'; do
        npx node --max-old-space-size=6000 scripts/move-model.ts $shape
      done
      ;;
    mutations) npx node scripts/mutations.ts ;;
    chaos-etcd)
      PADDLET_TEST_ETCD=$(scripts/fetch-etcd.sh) || skip 'there is no etcd'
      export PADDLET_TEST_ETCD
      run_chaos --store etcd
      ;;
    chaos-sqlite) run_chaos --store sqlite ;;
    moves-etcd)
      PADDLET_TEST_ETCD=$(scripts/fetch-etcd.sh) || skip 'there is no etcd'
      export PADDLET_TEST_ETCD
      run_moves --store etcd
      ;;
    moves-sqlite) run_moves --store sqlite ;;
    processes)
      PADDLET_TEST_ETCD=$(scripts/fetch-etcd.sh) || skip 'there is no etcd'
      export PADDLET_TEST_ETCD
      npx vitest run --project nightly
      ;;
    copies-killed)
      for mode in async sync; do
        npx node scripts/chaos/copies.ts --mode "$mode"
        npx node scripts/chaos/copies.ts --mode "$mode" --replicas 3 --at-once 2
        npx node scripts/chaos/copies.ts --mode "$mode" --pservers 2 --resize 4,3 --kills 0
      done
      ;;
    partitions)
      PADDLET_TEST_ETCD=$(scripts/fetch-etcd.sh) || skip 'there is no etcd'
      [ "$(id -u)" = 0 ] || skip 'it needs root, for network namespaces'
      command -v ip && command -v iptables || skip 'there is no ip (iproute2) or no iptables'
      export PADDLET_TEST_ETCD PADDLET_TEST_PARTITIONS=all
      npx vitest run --project nightly test/executable/partitions.nightly.test.ts
      ;;
    failover)
      npx node scripts/bench/failover.ts --kills 100
      npx node scripts/bench/failover.ts --kills 20 --proof none
      npx node scripts/bench/failover.ts --kills 30 --replicas 3 --at-once 2
      PADDLET_TEST_ETCD=$(scripts/fetch-etcd.sh) || skip 'there is no etcd'
      export PADDLET_TEST_ETCD
      npx node scripts/bench/failover.ts --kills 50 --store etcd
      ;;
    goodput) npx node scripts/bench/goodput.ts ;;
    hostile) for mode in async sync; do npx node scripts/hostile/hostile.ts --mode "$mode" --seconds 60; done ;;
    sync-digests)
      [ -d ../shared/data ] || skip 'the data sets are not in ../shared/data'
      PADDLET_TEST_ETCD=$(scripts/fetch-etcd.sh) || skip 'there is no etcd'
      export PADDLET_TEST_ETCD
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

require_node && install_packages && npm run --silent build || { printf '\n0 passed, 1 failed, 0 skipped\n'; exit 1; }
logs=build/nightly
mkdir -p "$logs"
passed=0 failed=0 skipped=0
for step in ${@:-$steps}; do
  step "$step"
  began=$SECONDS
  (set -e; run_step "$step") >"$logs/$step.log" 2>&1
  code=$?
  case $code in
    0) passed=$((passed + 1)) result=passed ;;
    "$SKIP") skipped=$((skipped + 1)) result=skipped ;;
    *) failed=$((failed + 1)) result="FAILED with $code" ;;
  esac
  tail -n "$([ "$code" = 0 ] && echo 3 || echo 40)" "$logs/$step.log"
  echo "$step $result after $((SECONDS - began)) s; log in $logs/$step.log"
done
printf '\n%s passed, %s failed, %s skipped\n' "$passed" "$failed" "$skipped"
[ "$failed" = 0 ]
