#!/usr/bin/env bash
# All set-up, then every check and test. The last line is `N passed, N failed, N skipped`; a check that fails (types,
# lint, build) counts as one failed. With CI=true a missing etcd, Python package or data set is a failure, not a reason
# to skip.
set -u
source "$(dirname "$0")/setup.sh"

results=build/test-results
failed_checks=()
beside=()

check() { # check NAME COMMAND...
  local name=$1
  shift
  step "$name"
  "$@" || { failed_checks+=("$name"); echo "FAILED: $name" >&2; }
}

# Runs while others do; its output is shown at the end.
check_beside() { # check_beside NAME COMMAND...
  local name=$1
  shift
  beside+=("$name")
  { "$@" >"$results/$name.log" 2>&1 || touch "$results/$name.failed"; } &
}

summary_without_node() {
  printf '\n0 passed, 1 failed, 0 skipped\n'
  exit 1
}

require_node || summary_without_node
# Downloads beside those of npm: they mostly wait. What cannot be had is told below, where it is asked for again.
{ scripts/fetch-etcd.sh; scripts/fetch-cbor2.sh; } >/dev/null 2>&1 &
install_packages || summary_without_node
wait
rm -rf "$results"
mkdir -p "$results"

find_etcd() {
  PADDLET_TEST_ETCD=${PADDLET_TEST_ETCD:-$(scripts/fetch-etcd.sh)} && export PADDLET_TEST_ETCD
}

find_cbor2() {
  PADDLET_TEST_CBOR2=$(scripts/fetch-cbor2.sh) && export PADDLET_TEST_CBOR2
}

find_data() {
  [ -d ../shared/data ] || { echo 'the data sets of the tests are not in ../shared/data' >&2; return 1; }
}

if [ "${CI:-}" = true ]; then
  check 'etcd' find_etcd
  check 'cbor2' find_cbor2
  check 'data' find_data
else
  find_etcd || echo 'no etcd: its tests are skipped'
  find_cbor2 || echo 'no Python with cbor2: the tests of the client in Python are skipped'
fi
# Ctrl-C ends what runs in the background, too.
trap 'trap - TERM; kill 0' INT TERM
check 'build kernels' npm run --silent build:kernels
check_beside types npm run --silent typecheck
check_beside lint npm run --silent lint
check_beside spelling npm run --silent spell
check 'build' npm run --silent build

# The fixed seed of test/properties.ts: more runs would be the same for each commit.
unset PADDLET_PROPERTY_SEED PADDLET_PROPERTY_SEEDS
export PADDLET_PROPERTY_PERCENT=14
run_tests() { # run_tests NAME PROJECTS
  step "tests: $1"
  npx vitest run --project "$2" --passWithNoTests \
    --reporter=default --reporter=json --outputFile.json="$results/$1.json"
  echo $? >"$results/$1.exit"
}
# Those of real processes mostly wait: their output is shown when both have ended.
run_tests executable executable >"$results/executable.log" 2>&1 &
run_tests unit 'unit*' &
wait
cat "$results/executable.log"
for name in "${beside[@]}"; do
  step "$name"
  cat "$results/$name.log"
  [ ! -e "$results/$name.failed" ] || { failed_checks+=("$name"); echo "FAILED: $name" >&2; }
done

npx node scripts/summarize-tests.ts "$results" ${failed_checks[@]+"${failed_checks[@]}"}
