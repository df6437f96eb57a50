#!/bin/bash
# The load generators against floor_epoll, one processor each (testbed.sh up): wrk and Weir on 64 kept
# connections; flood.c and Weir at one request per connection, over rates; Weir alone while the server is
# stopped for a second of ten, and with 19,000 thinking sessions. Everything is interleaved; medians of R, and the least and the most of the first
# figure. All run with real-time priority (chrt), so that what else the machine does is not in the figures.
# Needs root, jq and wrk. SRV and CLI name other namespaces than testbed.sh's. usage: generators.sh [-r R] [-s SECONDS] [-f "RATE..."] [-w "RATE..."] WEIR
# with the rates for flood.c (-f) and those for Weir (-w).
set -euo pipefail
R=5 S=2 FLOOD="9000 11000 13000 15000" WEIR="6000 9000 11000 13000 15000 15600 17000"
while getopts r:s:f:w: o; do case $o in r) R=$OPTARG;; s) S=$OPTARG;; f) FLOOD=$OPTARG;; w) WEIR=$OPTARG;; *) exit 2;; esac; done
shift $((OPTIND-1)); weir=$(realpath "$1"); cd "$(dirname "$0")"
T=$(mktemp -d); trap 'kill "$server" 2>/dev/null; rm -r "$T"' EXIT
for c in floor_epoll flood; do cc -O2 -w -o "$T/$c" $c.c; done
at() { ip netns exec "${CLI:-cli}" taskset -c 1 chrt -f 20 "$@"; }
(trap '' PIPE; exec ip netns exec "${SRV:-srv}" taskset -c 0 chrt -f 20 "$T/floor_epoll" 9001 1024) & server=$!
sleep 0.5; kill -0 $server # it listens
# Each prints its first figure and what else it has to tell.
wrk1() { at wrk -t1 -c64 -d"$S" http://10.77.0.1:9001/ | awk '/Requests.sec/{print $2}'; }
kept() { load --clients 64 --duration "$S"; jq -r .figures.replies_per_s "$T/json"; }
load() { at "$weir" load http://10.77.0.1:9001/ "$@" --json "$T/json" >/dev/null || true; }
flood() { at "$T/flood" 10.77.0.1 9001 / "$1" "$S" 5 | sed -E 's/.*replies ([0-9]+)\/s p50 ([0-9.]+)ms p99 ([0-9.]+)ms.*late>1ms ([0-9.]+)%.*/\4 - \1 \2 \3/'; }
open() {
  load --rate "$1" --duration "$S"
  jq -r '[.results.requests.arrivals_late * 100 / .results.requests.arrivals, .times_ms.schedule_lag.p99,
          .figures.replies_per_s, .times_ms.whole.p50, .times_ms.whole.p99] | join(" ")' "$T/json"
}
stopped() {
  (sleep 4; kill -STOP $server; sleep 1; kill -CONT $server) &
  load --rate 1000 --duration 10; wait $!
  jq -r '[.times_ms.whole.p99, .times_ms.whole.longest, .times_ms.schedule_lag.p99] | join(" ")' "$T/json"
}
thinking() { # seven requests in two pages, on 19,000 open connections at the same time
  printf '/ think=20\n    /\n    /\n    /\n/\n    /\n    /\n' >"$T/log"
  (exec ip netns exec "${CLI:-cli}" taskset -c 1 chrt -f 20 "$weir" load http://10.77.0.1:9001/ --workload "wsesslog:$T/log" \
    --rate 2000 --sessions 19000 --duration 60 --json "$T/json" >/dev/null) & local pid=$!
  while grep VmHWM /proc/$pid/status 2>/dev/null; do sleep 1; done | tail -1 | awk '{printf "%.1f ", $2 / 1024}'
  wait $pid || true
  jq -r '[.outcomes.good, .times_ms.schedule_lag.p99, .times_ms.schedule_lag.longest] | join(" ")' "$T/json"
}
for _ in $(seq "$R"); do
  wrk1 >>"$T/wrk"; kept >>"$T/kept"
  for rate in $FLOOD; do flood "$rate" >>"$T/flood.$rate"; done
  for rate in $WEIR; do open "$rate" >>"$T/open.$rate"; done
done
for _ in $(seq "$R"); do stopped >>"$T/stopped"; done
for _ in 1 2; do thinking >>"$T/thinking"; done
tell() { # FILE DECIMALS...: the medians of its columns, and the range of the first
  awk -v d="${*:2}" '{ for (i = 1; i <= NF; i++) v[i, NR] = $i; n = NF }
    function order(i,   a, b, t) { for (a = 1; a < NR; a++) for (b = a + 1; b <= NR; b++) if (v[i, b] + 0 < v[i, a] + 0) { t = v[i, a]; v[i, a] = v[i, b]; v[i, b] = t } }
    END { split(d, p, " "); for (i = 1; i <= n; i++) { order(i)
      m = v[i, int((NR + 1) / 2)]; if (m == "-") printf " | -"; else printf " | %.*f", p[i], m
      if (i == 1) printf " (%.*f to %.*f)", p[i], v[i, 1], p[i], v[i, NR] } print " |" }' "$1"
}
echo "| 64 kept connections, 1 KB | replies/s |"; echo "|---|---|"
for g in wrk kept; do echo "| ${g/kept/weir}$(tell "$T/$g" 0)"; done
echo; echo "| one request per connection | % begun 1 ms late | p99 of lag, ms | replies/s | p50, ms | p99, ms |"; echo "|---|---|---|---|---|---|"
for rate in $FLOOD; do echo "| flood.c at $rate/s$(tell "$T/flood.$rate" 2 3 0 2 2)"; done
for rate in $WEIR; do echo "| weir at $rate/s$(tell "$T/open.$rate" 2 3 0 2 2)"; done
echo; echo "| server stopped for 1 s of 10, 1,000/s | p99, ms | longest, ms | p99 of lag, ms |"; echo "|---|---|---|---|"
echo "| weir$(tell "$T/stopped" 0 0 3)"
echo; echo "| 19,000 thinking sessions | MiB | good replies | p99 of lag, ms | longest lag, ms |"; echo "|---|---|---|---|---|"
echo "| weir$(tell "$T/thinking" 1 0 3 3)"
