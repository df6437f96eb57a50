#!/bin/bash
# The processor's time for a reply over SPECweb99's files of 200 directories, which are in memory: the server with 4 processes on
# processor 0, 64 clients that do not think on processor 1, for four seconds after two. The time is all that
# /proc/stat counts of processor 0. Rounds of both, each first in turn; a line for each, then the median of the
# ratios in a round, the lowest and the highest. Makes 1 GB of files. It needs `testbed.sh up`, and nothing else
# on the machine. usage: large_set.sh WEIR [ROUNDS [ARCHITECTURE ARCHITECTURE]]
set -euo pipefail
weir=$(realpath "$1") rounds=${2:-12} one=${3:-symped} other=${4:-shared-symped} port=${PORT:-9061}
dir=$(mktemp -d) server=; trap 'kill $server 2>/dev/null || true; rm -r "$dir"' EXIT
"$weir" load make-site --workload specweb99 --dirs 200 "$dir/www" >/dev/null
busy() { awk '/^cpu0 / { print $2 + $3 + $4 + $7 + $8 }' /proc/stat; }
# It ends with 1 where it could not ask for more.
load() { ip netns exec cli taskset -c 1 "$weir" load http://10.77.0.1:$port/ --workload specweb99 --dirs 200 --think-scale 0 --clients 64 --warm-up 0 --duration "$1" || true; }
for ((round = 0; round < rounds; round++)); do
  order="$one $other"; ((round % 2 == 0)) || order="$other $one"
  for name in $order; do
    ip netns exec srv taskset -c 0 "$weir" serve "$dir/www" --listen 10.77.0.1:$port --architecture "$name" --processes 4 --admin off >"$dir/log" 2>&1 & server=$!
    until ip netns exec cli bash -c "exec 3<>/dev/tcp/10.77.0.1/$port" 2>/dev/null; do sleep 0.05; done
    load 2 >/dev/null 2>&1
    before=$(busy); load 4 >"$dir/load" 2>/dev/null; after=$(busy)
    kill $server; wait $server || true
    # A tick is 10 ms.
    awk -v ticks=$((after - before)) -v round=$round -v name="$name" '/^requests / { gsub(",", "", $2)
      printf "%d %s %d replies, %.1f us each\n", round, name, $2, ticks * 1e4 / $2; exit }' "$dir/load" | tee -a "$dir/rows"
  done
done
awk -v one="$one" '{ us[$1, $2 == one] = $5; last = $1 } END { for (n = 0; n <= last; n++) print us[n, 0] / us[n, 1] }' "$dir/rows" | sort -n |
  awk -v names="$other / $one" '{ all[NR] = $1 } END { printf "%s: %.3f (%.3f to %.3f)\n", names, (all[int((NR + 1) / 2)] + all[int(NR / 2) + 1]) / 2, all[1], all[NR] }'
