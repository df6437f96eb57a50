#!/bin/bash
# Memory of idle keep-alive connections: PSS summed over the server's processes (without the kernel's
# socket memory) before the first connection and with all of them idle, in KiB, and bytes for each.
# Needs a limit of descriptors above 16,000. usage: memory.sh WEIR ROOT PATH, PATH less than 60 KB
set -euo pipefail
weir=$1 root=$2 path=$3 port=${PORT:-9040}
cd "$(dirname "$0")"
idle=$(mktemp); trap 'rm -f "$idle"' EXIT
cc -O2 -o "$idle" idle.c
tree() { echo "$1"; for child in $(pgrep -P "$1"); do tree "$child"; done; }
pss() { for pid in $(tree "$1"); do cat "/proc/$pid/smaps_rollup"; done | awk '/^Pss:/ { k += $2 } END { print k }'; }
ulimit -n 20000
printf '%-19s %11s %9s %9s %6s\n' server connections start_KiB idle_KiB bytes
row() { # NAME CONNECTIONS FLAGS...
  local name=$1 n=$2; shift 2
  "$weir" serve "$root" --listen "127.0.0.1:$port" --architecture "$name" --admin off "$@" >/dev/null 2>&1 & server=$!
  until (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do sleep 0.1; done
  sleep 0.5
  start=$(pss $server)
  coproc client { "$idle" 127.0.0.1 "$port" "$path" "$n"; }
  read -r _ <&"${client[0]}"
  end=$(pss $server)
  printf '%-19s %11d %9d %9d %6d\n' "$name" "$n" "$start" "$end" $(((end - start) * 1024 / n))
  eval "exec ${client[1]}>&-"; wait "$client_PID" || true
  kill $server; wait $server || true
}
files=(--cache-files 2000)
for n in 1 1000 15000; do
  # Several processes do not share out connections evenly.
  for name in symped shared-symped; do row $name $n "${files[@]}"; done
  for name in sped amped knot watpipe pipelined seda proactor tux; do row $name $n --connections-max 15000 "${files[@]}"; done
  for name in mt thread-per-request; do row $name $n --threads 15000 --connections-max 15000 "${files[@]}"; done
  # Processes are 1,024 at most.
  [ $n = 15000 ] || row mp $n --processes 1000
done
