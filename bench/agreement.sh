#!/bin/bash
# Whether `weir load` tells the truth: beside `flood.c` and httperf at rates that the server can answer, in turn, and
# against a server that stands still for a second of ten. It needs `testbed.sh up`, httperf, and nothing else on the
# machine. Prints medians and quartiles.
# usage: agreement.sh WEIR [ROUNDS [RATE...]]
set -euo pipefail
weir=$(realpath "$1") rounds=${2:-7} rates=("${@:3}"); ((${#rates[@]})) || rates=(1000 2000 4000)
cd "$(dirname "$0")"
server=10.77.0.1 port=9001 seconds=5 url=http://10.77.0.1:9001/
dir=$(mktemp -d); cc -O2 -o "$dir/flood" flood.c; cc -O2 -o "$dir/floor" floor_epoll.c
ip netns exec srv taskset -c 0 "$dir/floor" $port 1024 & floor=$!
trap 'kill -CONT $floor; kill $floor; wait; rm -r "$dir"' EXIT
client() { ip netns exec cli taskset -c 1 "$@"; }
key() { grep -o "\"$1\":[0-9.]*" | head -1 | cut -d: -f2; }
load() { client "$weir" load $url --json "$dir/json" "$@" >/dev/null || true; }
whole() { grep -o '"whole":{[^}]*}' "$dir/json"; }

echo "== a server that stands still for 1 s of 10, at 1,000/s"
for ((round = 0; round < 3; round++)); do
  load --rate 1000 --duration 10 & client=$!
  sleep 4; kill -STOP $floor; sleep 1; kill -CONT $floor; wait $client
  printf 'p99 %s ms, longest %s ms, %s replies/s\n' "$(whole | key p99)" "$(whole | key longest)" \
    "$(key replies_per_s <"$dir/json")"
done

for rate in "${rates[@]}"; do
  for ((round = 0; round < rounds; round++)); do
    client "$dir/flood" $server $port / "$rate" $seconds 1 |
      sed -E 's|.*replies ([0-9]+)/s p50 ([0-9.]+)ms.*|flood \1 \2 -|'
    client httperf --hog --server $server --port $port --uri / --rate "$rate" --num-conns $((rate * seconds)) \
      --timeout 1 2>/dev/null | awk '/^Connection rate/{r = $3} /^Connection time .ms.: min/{mean = $7; p50 = $11}
        END{print "httperf", r, p50, mean}'
    load --rate "$rate" --duration $seconds --patience 1
    echo "weir $(key replies_per_s <"$dir/json") $(whole | key p50) $(whole | key mean)"
  done >"$dir/rows"
  echo "== $rate/s: replies/s, median and mean of the response time in ms, each with its quartiles"
  awk '
    function sorted(of, column, n,   i, j, t) {
      for (i = 1; i <= n; i++) v[i] = cell[of, column, i]
      for (i = 2; i <= n; i++) for (j = i; j > 1 && v[j - 1] + 0 > v[j] + 0; j--) { t = v[j]; v[j] = v[j - 1]; v[j - 1] = t }
    }
    { n[$1]++; for (c = 2; c <= 4; c++) cell[$1, c, n[$1]] = $c }
    END { for (of in n) { printf "%-8s", of; for (c = 2; c <= 4; c++) { sorted(of, c, n[of]); k = n[of]
      printf "  %8s (%s to %s)", v[int((k + 1) / 2)], v[int((k + 3) / 4)], v[int((3 * k + 3) / 4)] } print "" } }
  ' "$dir/rows"
done
