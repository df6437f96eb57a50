#!/bin/bash
# Whether the load generators agree: flood.c and httperf, which never sleep here, and `weir load`, which spins or
# sleeps, in turn, one request per connection, at rates that floor_epoll can answer. Prints medians of ROUNDS and
# quartiles. Needs root, `testbed.sh up`, httperf and jq, and nothing else on the machine.
# usage: agreement.sh WEIR [ROUNDS [RATE...]]
set -euo pipefail
weir=$(realpath "$1") rounds=${2:-7} rates=("${@:3}"); ((${#rates[@]})) || rates=(1000 2000 4000 6000)
cd "$(dirname "$0")"
server=10.77.0.1 port=9001 seconds=3
dir=$(mktemp -d); cc -O2 -w -DNAP_MS=0 -o "$dir/flood" flood.c; cc -O2 -w -o "$dir/floor" floor_epoll.c
ip netns exec srv taskset -c 0 chrt -f 20 "$dir/floor" $port 1024 & floor=$!
trap 'kill $floor; wait; rm -r "$dir"' EXIT
sleep 0.5; kill -0 $floor
client() { ip netns exec cli taskset -c 1 "$@"; }
flood() { # its times count from intended starts; RATE: replies/s, median and 99th percentile in ms
  client "$dir/flood" $server $port / "$1" $seconds 1 |
    sed -E 's|.*replies ([0-9]+)/s p50 ([0-9.]+)ms p99 ([0-9.]+)ms.*|\1 \2 \3|'
}
httperf_() { # replies/s, and the mean and the median of a connection's time in ms; medians are told to 0.5 ms
  client httperf --hog --add-header "Connection: close\n" --server $server --port $port --uri / --rate "$1" --num-conns $(($1 * seconds)) --timeout 1 2>/dev/null |
    awk '/^Connection rate/{rate = $3} /^Connection time .ms.: min/{mean = $7; median = $11} END{print rate, mean, median}'
}
load() { # RATE [FLAG]...: replies/s; median and 99th percentile from intended starts, and mean and median from real ones, in ms
  client "$weir" load http://$server:$port/ --rate "$@" --duration $seconds --patience 1 --json "$dir/json" >/dev/null || true
  jq -r '[.figures.replies_per_s, .times_ms.whole.p50, .times_ms.whole.p99, .times_ms.response.mean, .times_ms.response.p50] | join(" ")' "$dir/json"
}
tell() { # FILE: the median and the quartiles of each column
  awk '{ for (i = 1; i <= NF; i++) v[i, NR] = $i; n = NF }
    function order(i,   a, b, t) { for (a = 1; a < NR; a++) for (b = a + 1; b <= NR; b++) if (v[i, b] + 0 < v[i, a] + 0) { t = v[i, a]; v[i, a] = v[i, b]; v[i, b] = t } }
    END { for (i = 1; i <= n; i++) { order(i); printf " | %.4g (%.4g to %.4g)", v[i, int((NR + 1) / 2)], v[i, int((NR + 3) / 4)], v[i, int((3 * NR + 3) / 4)] } print " |" }' "$1"
}
for rate in "${rates[@]}"; do
  for _ in $(seq "$rounds"); do
    flood "$rate" >>"$dir/flood.$rate"; load "$rate" >>"$dir/load.$rate"
    load "$rate" --spins on >>"$dir/spins.$rate"; httperf_ "$rate" >>"$dir/httperf.$rate"
  done
done
echo "| | replies/s | median from the intended start, ms | 99th percentile, ms |"; echo "|---|---|---|---|"
for rate in "${rates[@]}"; do
  echo "| flood.c at $rate/s$(tell "$dir/flood.$rate")"; cut -d' ' -f1-3 "$dir/load.$rate" >"$dir/cut"
  echo "| weir at $rate/s$(tell "$dir/cut")"; cut -d' ' -f1-3 "$dir/spins.$rate" >"$dir/cut"
  echo "| weir, spinning, at $rate/s$(tell "$dir/cut")"
done
echo; echo "| | replies/s | mean of a connection's time, ms | median, ms |"; echo "|---|---|---|---|"
for rate in "${rates[@]}"; do
  echo "| httperf at $rate/s$(tell "$dir/httperf.$rate")"; cut -d' ' -f1,4,5 "$dir/load.$rate" >"$dir/cut"
  echo "| weir at $rate/s$(tell "$dir/cut")"; cut -d' ' -f1,4,5 "$dir/spins.$rate" >"$dir/cut"
  echo "| weir, spinning, at $rate/s$(tell "$dir/cut")"
done
