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
printf '%-10s %11s %9s %9s %6s\n' server connections start_KiB idle_KiB bytes
for row in sped:10000 symped:10000 amped:10000 proactor:10000 tux:10000 mt:1000 mt:4000; do
  name=${row%:*} n=${row#*:}; flags=(); [ "$name" = mt ] && flags=(--threads "$n")
  "$weir" serve "$root" --listen "127.0.0.1:$port" --architecture "$name" "${flags[@]}" >/dev/null & server=$!
  until (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do sleep 0.1; done
  start=$(pss $server)
  coproc client { "$idle" 127.0.0.1 "$port" "$path" "$n"; }
  read -r _ <&"${client[0]}"
  end=$(pss $server)
  printf '%-10s %11d %9d %9d %6d\n' "$name" "$n" "$start" "$end" $(((end - start) * 1024 / n))
  eval "exec ${client[1]}>&-"; wait "$client_PID" || true
  kill $server; wait $server || true
done
