#!/bin/bash
# Serves under load at a share of its capacity while, every two seconds, something changes: the architecture
# (the next of those named, or of all there are), then the settings (a reload), then the executable (an upgrade),
# and again. The capacity is that of the slowest. Prints what clients saw, and the log where one saw a failure. It needs
# `testbed.sh up`, and nothing else on the machine.
# usage: changes.sh WEIR [SECONDS [SHARE [ARCHITECTURE...]]]
set -euo pipefail
weir=$(realpath "$1") seconds=${2:-600} share=${3:-0.7}
architectures=("${@:4}")
cd "$(dirname "$0")"
((${#architectures[@]})) || mapfile -t architectures < <(./architectures.sh "$weir")
server=10.77.0.1 port=9021
dir=$(mktemp -d); www=$dir/www; mkdir "$www"; head -c 1024 /dev/urandom >"$www/1k.bin"
cp "$weir" "$dir/weir"; cc -O2 -o "$dir/kept" kept.c
log=$dir/log; : >"$log"; pid= loads=()
trap 'kill $pid "${loads[@]}" 2>/dev/null || true; wait; rm -r "$dir"' EXIT

configure() { # ARCHITECTURE
  printf 'root = "%s"\nlisten = "%s:%s"\narchitecture = "%s"\nadmin = "off"\n' "$www" $server $port "$1" >"$dir/next"
  mv "$dir/next" "$dir/weir.toml"
}
said() { grep -c "$1" "$log" || true; }
await() { # WHAT COUNT: until that was said so often
  for _ in {1..1000}; do (($(said "$1") >= $2)) && return; sleep 0.01; done
  echo "not said: $1; the last lines were" >&2; tail -3 "$log" >&2; exit 1
}
parent() { ps -o ppid= -p "$1" | tr -d ' '; }
supervisor() { # whose worker, or whose keeper's, was the last to be ready
  local of; of=$(parent "$(grep -o "serves as process [0-9]*" "$log" | tail -1 | grep -o "[0-9]*$")")
  [ "$(cat "/proc/$of/comm")" = weir-keeper ] && of=$(parent "$of")
  echo "$of"
}
change() { # by SIGHUP or SIGUSR2: until the others serve
  case $1 in HUP) what=retires;; USR2) what="this one retires";; esac
  local before; before=$(said "$what")
  echo "== $(date +%T.%3N) $2" >>"$log"
  kill -s "$1" "$pid"; await "$what" $((before + 1)); pid=$(supervisor)
}
client() { ip netns exec cli taskset -c 1 "$@"; }
capacity() { # FLAGS: requests/s that wrk gets
  client wrk -t1 -d3 "$@" http://$server:$port/1k.bin | awk '/Requests.sec/{printf "%.0f", $2}'
}

configure "${architectures[0]}"
ip netns exec srv taskset -c 0 "$dir/weir" serve --config "$dir/weir.toml" >>"$log" 2>&1 </dev/null &
pid=$!; await "serves as process" 1; pid=$(supervisor)
keep=0 close=0
for architecture in "${architectures[@]}"; do
  configure "$architecture"; change HUP "$architecture"
  k=$(capacity -c64) c=$(capacity -c256 -H 'Connection: close')
  echo "$architecture: $k requests/s on kept connections, $c/s on connections of their own"
  ((keep && keep < k)) || keep=$k; ((close && close < c)) || close=$c
done
# Half of the work each: requests of kept connections, and of connections of their own.
rates=($(awk -v k="$keep" -v c="$close" -v s="$share" 'BEGIN{printf "%d %d", k*s/2, c*s/2}'))
echo "offered together for $seconds s: ${rates[0]}/s and ${rates[1]}/s"
client "$dir/kept" $server $port /1k.bin "${rates[0]}" "$seconds" 5 256 keep >"$dir/keep" 2>>"$log" & loads+=($!)
client "$dir/kept" $server $port /1k.bin "${rates[1]}" "$seconds" 5 4096 close >"$dir/close" 2>>"$log" & loads+=($!)

n=0 until=$((SECONDS + seconds - 2))
while sleep 2; ((SECONDS < until)); do
  architecture=${architectures[n/3%${#architectures[@]}]}
  case $((n++ % 3)) in
  0) configure "$architecture"; change HUP "change to $architecture";;
  1) change HUP "reload of $architecture";;
  2) change USR2 "upgrade of $architecture";;
  esac
done
failed=0
for load in "${loads[@]}"; do wait "$load" || failed=1; done; loads=()
for kind in keep close; do echo "$kind: $(cat "$dir/$kind")"; done
echo "$n changes: of architecture, of settings, of the executable in turn"
((failed == 0)) || grep -v "listening on\|limits:\|confined by\|has drained" "$log" | tail -200
exit $failed
