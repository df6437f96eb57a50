#!/bin/bash
# What slow clients cost good ones: CLIENTS connections that trickle their heads, or are silent, or read at most
# 819 bytes/s of a reply of 16 MB, and from 3 s after they came RATE requests/s of good clients, each on a connection
# of its own, or on kept ones. Each round asks every architecture without slow clients and with them, one after
# the other, on a server started anew; the line tells the median p99 of the rounds without and with, the median of
# their differences, and the lowest and highest of these. AGAIN: seconds after which a slow client who was closed
# comes again; 0 never.
# It needs `testbed.sh up`, and nothing else on the machine.
# usage: slow.sh [-n ROUNDS] [-s SECONDS] [-c CLIENTS] [-r RATE] [-a AGAIN] [-k keep|close] [-m trickle|silent|read] WEIR [ARCHITECTURE[=FLAGS]...]
set -euo pipefail
rounds=5 seconds=5 clients=9000 rate=1000 again=1 kind=close mode=trickle
while getopts n:s:c:r:a:k:m: flag; do
  case $flag in
  n) rounds=$OPTARG;; s) seconds=$OPTARG;; c) clients=$OPTARG;; r) rate=$OPTARG;; a) again=$OPTARG;; k) kind=$OPTARG;; m) mode=$OPTARG;;
  *) sed -n '/^# usage/s/^# //p' "$0" >&2; exit 2;;
  esac
done
case $mode in
trickle) slow=();; silent) slow=("");; read) slow=(/16m.bin);;
*) sed -n '/^# usage/s/^# //p' "$0" >&2; exit 2;;
esac
shift $((OPTIND - 1)); weir=$(realpath "$1"); shift
subjects=("$@")
cd "$(dirname "$0")"
((${#subjects[@]})) || mapfile -t subjects < <(./architectures.sh "$weir")
server=10.77.0.1 port=9031 dir=$(mktemp -d) pid= slow_pid=
trap 'kill $pid $slow_pid 2>/dev/null || true; wait; rm -r "$dir"' EXIT
mkdir "$dir/www"; head -c 1024 /dev/urandom >"$dir/www/1k.bin"; head -c 16777216 /dev/urandom >"$dir/www/16m.bin"
cc -O2 -o "$dir/kept" kept.c; cc -O2 -o "$dir/trickle" slow.c
# The server has room for all of them, beside its files; whoever has more keeps it.
descriptors=$((2 * clients + 2000))
[ "$(ulimit -n)" = unlimited ] || (($(ulimit -n) >= descriptors)) || ulimit -n $descriptors
client() { ip netns exec cli taskset -c 1 "$@"; }
runs() { kill -0 "$1" 2>/dev/null || { cat "$2" >&2; exit 1; }; } # PID OUTPUT

ask() { # SUBJECT none|slow: writes the p99 of good clients in ms, and how many of their requests failed
  local name=${1%%=*} flags=(); [ "$name" = "$1" ] || read -ra flags <<<"${1#*=}"
  ip netns exec srv taskset -c 0 "$weir" serve "$dir/www" --listen $server:$port --architecture "$name" "${flags[@]}" >"$dir/log" 2>&1 </dev/null &
  pid=$!
  until client bash -c "exec 3<>/dev/tcp/$server/$port" 2>/dev/null; do runs $pid "$dir/log"; sleep 0.05; done
  client "$dir/kept" $server $port /1k.bin "$rate" 1 5 512 "$kind" >/dev/null || true
  if [ "$2" = slow ]; then
    mkfifo "$dir/in"
    client "$dir/trickle" $server $port "$clients" 5 "$again" "${slow[@]}" <"$dir/in" >"$dir/trickle.out" & slow_pid=$!
    exec 4>"$dir/in"; rm "$dir/in"
    until grep -q slow "$dir/trickle.out"; do runs $slow_pid "$dir/trickle.out"; sleep 0.05; done
    sleep 3
  fi
  client "$dir/kept" $server $port /1k.bin "$rate" "$seconds" 5 2048 "$kind" >"$dir/out" 2>/dev/null || true
  if [ "$2" = slow ]; then exec 4>&-; wait $slow_pid || true; slow_pid=; cat "$dir/trickle.out" >>"$dir/$name.slow"; fi
  kill $pid; wait $pid || true; pid=
  # TIME_WAIT holds ports.
  ip netns exec srv ss -HK state time-wait >/dev/null 2>&1 || true
  ip netns exec cli ss -HK state time-wait >/dev/null 2>&1 || true
  # Who got no answer has waited for all of his patience.
  sed -E 's/asked ([0-9]+) .*failed ([0-9]+) .*p99 ([0-9.]+) ms.*/\1 \2 \3/' "$dir/out" |
    awk -v patience=5000 '{ print ($2 * 100 > $1 ? patience : $3), $2 }' >"$dir/$2"
}

for ((round = 0; round < rounds; round++)); do
  for subject in "${subjects[@]}"; do
    name=${subject%%=*}
    order="none slow"; ((round % 2 == 0)) || order="slow none"
    for what in $order; do ask "$subject" "$what"; done
    paste -d' ' "$dir/none" "$dir/slow" >>"$dir/$name"
  done
done
at() { sort -n | awk -v q="$1" '{ a[NR] = $1 } END { print a[int((NR - 1) * q + 1.5)] }'; }
for subject in "${subjects[@]}"; do
  name=${subject%%=*} f=$dir/${subject%%=*}
  difference() { awk '{ printf "%.2f\n", $3 - $1 }' "$f" | at "$1"; }
  echo "$name: p99 $(cut -d' ' -f1 "$f" | at .5) ms without, $(cut -d' ' -f3 "$f" | at .5) ms with; difference $(difference .5)" \
    "($(difference 0) to $(difference 1)) ms; failed $(awk '{ a += $2; b += $4 } END { print a " without, " b " with" }' "$f");" \
    "the last time slow ones: $(tail -1 "$f.slow")"
done
