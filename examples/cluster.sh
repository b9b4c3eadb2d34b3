#!/usr/bin/env bash
# A cluster by hand: a master, two pservers and two trainers as processes of their own, which find each other through
# etcd. On as many machines it would be the same commands, with PADDLET_STORE set on each.
#
#   examples/cluster.sh [JOB [FLAG...]]      JOB: a job file with two pservers (default synth-fm.yaml, whose data is
#                                            made); FLAGs go to the last `paddlet status`: --json, --timeout 1h
#   PADDLET         the executable (default dist/paddlet)
#   PADDLET_STORE   a store that is there, etcd://HOST:PORT; without it an etcd is started for the occasion:
#   ETCD            its binary (default PADDLET_TEST_ETCD, etcd on PATH, or what scripts/fetch-etcd.sh brought)
#   FOLDER          for logs, checkpoints and etcd's data; resumes with what is in it. Default: one that is removed
#                   in the end
#
# Roles may be started in any order and killed at any time; `keep` starts again what can go on.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
paddlet=$(realpath "${PADDLET:-$root/dist/paddlet}")
job=$(realpath "${1:-$root/examples/synth-fm.yaml}")
shift $(($# > 0))
export PADDLET_DATA=${PADDLET_DATA:-$(dirname "$job")}

folder=${FOLDER:-$(mktemp -d)}
started=() roles=()
leave() {
  trap - EXIT
  # Last of all the store, that the roles take their leave of.
  local i
  for ((i = ${#started[@]} - 1; i >= 0; i--)); do
    kill "${started[i]}" 2>/dev/null && wait "${started[i]}" || true
  done
  [ -n "${FOLDER:-}" ] || rm -rf "$folder"
}
trap leave EXIT
trap 'exit 130' INT TERM
mkdir -p "$folder"
cd "$folder"

free_port() { # free_port FIRST
  local port=$1
  while (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do port=$((port + 1)); done
  echo "$port"
}

start_etcd() {
  local binary clients peers
  binary=${ETCD:-${PADDLET_TEST_ETCD:-$(command -v etcd || echo "$root/.cache/etcd/usr/bin/etcd")}}
  [ -x "$binary" ] || { echo 'no etcd: set PADDLET_STORE or ETCD, or run scripts/fetch-etcd.sh' >&2; exit 4; }
  clients=$(free_port $((20000 + RANDOM % 10000)))
  peers=$(free_port $((clients + 1)))
  "$binary" --data-dir etcd --listen-client-urls "http://127.0.0.1:$clients" --advertise-client-urls "http://127.0.0.1:$clients" \
    --listen-peer-urls "http://127.0.0.1:$peers" --initial-advertise-peer-urls "http://127.0.0.1:$peers" \
    --initial-cluster "default=http://127.0.0.1:$peers" >etcd.log 2>&1 &
  started+=($!)
  export PADDLET_STORE=etcd://127.0.0.1:$clients
}

# Starts again what ended, unless another try cannot help (docs/operations.md, exit codes). On SIGTERM it stops what it
# keeps, by SIGINT: all roles stop, so a pserver saves its units and hands none over.
keep() { # keep LOG COMMAND...
  local log=$1 child='' code=0 tries
  shift
  trap '[ -z "$child" ] || kill -INT "$child" 2>/dev/null; wait; exit 130' TERM
  for tries in {1..10}; do
    "$@" >>"$log" 2>&1 &
    child=$!
    wait "$child" && code=0 || code=$?
    case $code in
      0 | 2 | 3 | 6 | 7 | 8 | 9 | 130) return $code ;;
      *) echo "$* ended with $code ($tries); starting it again" >&2 ;;
    esac
  done
  return $code
}

role() { # role NAME COMMAND...
  local name=$1
  shift
  keep "$name.log" "$@" &
  started+=($!)
  roles+=($!)
}

# In the background, since bash hears signals only while it waits for nothing but `wait`.
follow() { # follow COMMAND...
  "$@" &
  started+=($!)
  wait $!
}

[ -n "${PADDLET_STORE:-}" ] || start_etcd
echo "store $PADDLET_STORE, logs in $folder" >&2
if [ "$job" = "$root/examples/synth-fm.yaml" ] && [ ! -e "$PADDLET_DATA/synth" ]; then
  PADDLET_DATA=$folder
  "$paddlet" data synth --output synth >&2
fi

role trainer-0 "$paddlet" trainer
role pserver-1 "$paddlet" pserver --index 1 --dir .
role pserver-0 "$paddlet" pserver --index 0 --dir .
role trainer-1 "$paddlet" trainer
role master "$paddlet" master "$job"

follow "$paddlet" status --until running >&2
follow "$paddlet" status --until done --timeout 10m "$@"
for pid in "${roles[@]}"; do wait "$pid"; done
