#!/bin/bash
# What a flood leaves of a server: good replies a second and their waits at each of RATES connections/s (one
# request each, Poisson, clients that wait PATIENCE seconds), with a QUOTA of CPU 0 for the server's processes.
# Each round asks every subject at every rate, on a server started anew; a line tells the medians of the rounds,
# and what is kept of the subject's best rate, with the 95 % interval of its rounds. Times are counted from when a
# client was to come. It needs `testbed.sh up` and root, and nothing else on the machine. A subject is an architecture with flags.
# usage: flood.sh [-q PERCENT] [-s SECONDS] [-w WARM_UP] [-p PATIENCE] [-n ROUNDS] [-r "RATES"] WEIR [SUBJECT[=FLAGS]...]
set -euo pipefail
quota=25 seconds=4 warm=1 patience=1 rounds=3 rates="4000 6000 8000 12000 16000"
usage() { sed -n '/^# usage/s/^# //p' "$0" >&2; exit 2; }
while getopts q:s:w:p:n:r: flag; do
  case $flag in
  q) quota=$OPTARG;; s) seconds=$OPTARG;; w) warm=$OPTARG;; p) patience=$OPTARG;;
  n) rounds=$OPTARG;; r) rates=$OPTARG;; *) usage;;
  esac
done
shift $((OPTIND - 1)); (($#)) || usage
weir=$(realpath -e "$1"); shift
subjects=("$@")
cd "$(dirname "$0")"
((${#subjects[@]})) || mapfile -t subjects < <(./architectures.sh "$weir")
source ratio.sh
dir=$(mktemp -d) pid=
trap 'kill $pid 2>/dev/null || true; wait; rm -r "$dir"' EXIT
mkdir "$dir/www"; head -c 1024 /dev/urandom >"$dir/www/1k.bin"
server=10.77.0.1 port=9041
client() { ip netns exec cli taskset -c 1 "$@"; }

# The shortest time that a group may run is 1 ms.
limit() {
  local group=/sys/fs/cgroup/cpu/flood period=8000 process task
  mkdir -p $group; echo $period >$group/cpu.cfs_period_us; echo $((period * quota / 100)) >$group/cpu.cfs_quota_us
  for process in "$pid" $(pgrep -P "$pid"); do
    for task in /proc/"$process"/task/*; do echo "${task##*/}" >$group/tasks 2>/dev/null || true; done
  done
}

cell() { tr -c 'a-z0-9\n' _ <<<"$1.$2"; }

ask() { # SUBJECT RATE: appends "good p50 p99" to a file of that cell
  local name=${1%%=*} flags=(); [ "$name" = "$1" ] || read -ra flags <<<"${1#*=}"
  ip netns exec srv taskset -c 0 "$weir" serve "$dir/www" --listen $server:$port --admin off --user root \
    --architecture "$name" "${flags[@]}" >"$dir/log" 2>&1 </dev/null &
  pid=$!
  until client bash -c "exec 3<>/dev/tcp/$server/$port" 2>/dev/null; do
    kill -0 $pid || { cat "$dir/log" >&2; exit 1; }; sleep 0.05
  done
  ((quota >= 100)) || limit
  client chrt -f 10 "$weir" load http://$server:$port/1k.bin --rate "$2" --gaps poisson --patience "$patience" \
    --duration "$seconds" --warm-up "$warm" --sources 10.77.0.10-10.77.0.17 --connections-max 17000 \
    --json "$dir/out.json" >/dev/null 2>"$dir/err" || true
  jq -r '[.figures.goodput_per_s, .times_ms.whole.p50, .times_ms.whole.p99] | map(. // 0) | @tsv' "$dir/out.json" \
    >>"$dir/$(cell "$@")"
  kill $pid; wait $pid || true; pid=
  ip netns exec srv ss -HK state time-wait >/dev/null 2>&1 || true
  ip netns exec cli ss -HK state time-wait >/dev/null 2>&1 || true
}

for ((round = 0; round < rounds; round++)); do
  for rate in $rates; do for subject in "${subjects[@]}"; do ask "$subject" "$rate"; done; done
done
middle() { sort -n | awk '{ a[NR] = $1 } END { print (a[int((NR + 1) / 2)] + a[int(NR / 2) + 1]) / 2 }'; }
percent() { awk -v r="$1" -v digits="${2:-1}" 'BEGIN { printf "%.*f", digits, 100 * r }'; }
goods() { cut -f1 "$dir/$(cell "$@")"; }
printf '%-28s %8s %8s %6s %-12s %9s %9s  %s\n' subject rate good/s kept% "" p50/ms p99/ms "good/s of the rounds"
for subject in "${subjects[@]}"; do
  best=$(for rate in $rates; do echo "$(goods "$subject" "$rate" | middle) $rate"; done | sort -n | tail -1)
  for rate in $rates; do
    f=$dir/$(cell "$subject" "$rate")
    paste -d' ' <(goods "$subject" "${best#* }") <(goods "$subject" "$rate") >"$dir/pairs"
    read -r _ _ good kept least most < <(ratio "$dir/pairs")
    printf '%-28s %8s %8.0f %6.1f %-12s %9.2f %9.2f  %s\n' "$subject" "$rate" "$good" \
      "$(percent "$kept")" "($(percent "$least" 0) to $(percent "$most" 0))" "$(cut -f2 "$f" | middle)" \
      "$(cut -f3 "$f" | middle)" "$(goods "$subject" "$rate" | awk '{ printf "%.0f ", $1 }')"
  done
done
