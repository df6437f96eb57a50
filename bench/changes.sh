#!/bin/bash
# Serves by ARCHITECTURE under load at a share of its capacity while, every two seconds, something changes in
# turn: the settings (a reload), the architecture (another, and with the next change back), the executable
# (an upgrade). Prints what clients saw. It needs `testbed.sh up`, and nothing else on the machine.
# usage: changes.sh WEIR ARCHITECTURE [SECONDS [SHARE]]
set -euo pipefail
weir=$(realpath "$1") architecture=$2 seconds=${3:-600} share=${4:-0.7}
cd "$(dirname "$0")"
server=10.77.0.1 port=9021 others=(sped amped mt proactor)
dir=$(mktemp -d); www=$dir/www; mkdir "$www"; head -c 1024 /dev/urandom >"$www/1k.bin"
cp "$weir" "$dir/weir"; cc -O2 -o "$dir/kept" kept.c
log=$dir/log; pid= loads=()
trap 'kill $pid "${loads[@]}" 2>/dev/null || true; wait; rm -r "$dir"' EXIT

configure() { # ARCHITECTURE
  printf 'root = "%s"\nlisten = "%s:%s"\narchitecture = "%s"\nadmin = "off"\n' "$www" $server $port "$1" >"$dir/next"
  mv "$dir/next" "$dir/weir.toml"
}
said() { grep -c "$1" "$log" 2>/dev/null || true; }
await() { # WHAT COUNT: until that was said so often
  for _ in {1..1000}; do (($(said "$1") >= $2)) && return; sleep 0.01; done
  echo "not said: $1; the last lines were" >&2; tail -3 "$log" >&2; exit 1
}
supervisor() { # whose worker was the last to be ready
  ps -o ppid= -p "$(grep -o "serves as process [0-9]*" "$log" | tail -1 | grep -o "[0-9]*$")" | tr -d ' '
}
start() { configure "$architecture"; ip netns exec srv taskset -c 0 "$dir/weir" serve --config "$dir/weir.toml" >>"$log" 2>&1 </dev/null & }
client() { ip netns exec cli taskset -c 1 "$@"; }
capacity() { # FLAGS: requests/s that wrk gets
  client wrk -t1 -d3 "$@" http://$server:$port/1k.bin | awk '/Requests.sec/{printf "%.0f", $2}'
}

: >"$log"; start; pid=$!; await "serves as process" 1; pid=$(supervisor)
keep=$(capacity -c64) close=$(capacity -c256 -H 'Connection: close')
# Half of the work each: requests of kept connections, and of connections of their own.
rates=($(awk -v k="$keep" -v c="$close" -v s="$share" 'BEGIN{printf "%d %d", k*s/2, c*s/2}'))
echo "$architecture: capacity $keep/s on kept connections, $close/s on connections of their own;" \
  "offered ${rates[0]}/s and ${rates[1]}/s together for $seconds s"
client "$dir/kept" $server $port /1k.bin "${rates[0]}" "$seconds" 5 256 keep >"$dir/keep" & loads+=($!)
client "$dir/kept" $server $port /1k.bin "${rates[1]}" "$seconds" 5 4096 close >"$dir/close" & loads+=($!)

reloads=0 changes=0 upgrades=0 n=0 now=$architecture
until=$((SECONDS + seconds - 2))
while ((SECONDS < until)); do
  sleep 2
  case $((n++ % 4)) in
  0) reload=1; reloads=$((reloads + 1));;
  1) for now in "${others[@]:changes/2%4}" "${others[@]}"; do [ "$now" = "$architecture" ] || break; done
     configure "$now"; reload=1; changes=$((changes + 1));;
  2) now=$architecture; configure "$now"; reload=1; changes=$((changes + 1));;
  3) reload=0; upgrades=$((upgrades + 1));;
  esac
  if ((reload)); then
    before=$(said retires); kill -HUP "$pid"; await retires $((before + 1))
  else
    kill -USR2 "$pid"; await "this one retires" $upgrades; pid=$(supervisor)
  fi
done
failed=0
for load in "${loads[@]}"; do wait "$load" || failed=1; done; loads=()
for kind in keep close; do echo "$architecture $kind: $(cat "$dir/$kind")"; done
echo "$architecture: $reloads reloads, $changes changes of architecture, $upgrades upgrades"
exit $failed
