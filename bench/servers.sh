#!/bin/bash
# Starts the floors and Weir in namespace srv on CPU 0, for steady.sh; prints "name:port" for each and
# ends them when its standard input ends. usage: servers.sh WEIR [NAME[=FLAGS]...] with NAME an architecture; all of them
set -euo pipefail
weir=$(realpath -e "$1"); shift
cd "$(dirname "$0")"
www=${WWW:-/tmp/peers/www}; bin=$(mktemp -d); pids=()
trap 'kill "${pids[@]}" 2>/dev/null || true; rm -r "$bin"' EXIT
run() { ip netns exec srv taskset -c 0 "$@" >/dev/null 2>&1 </dev/null & pids+=($!); }
trap '' PIPE # the floors do not expect that a client goes away
cc -O2 -o "$bin/floor_epoll" floor_epoll.c; run "$bin/floor_epoll" 9001 1024; echo floor_epoll:9001
cc -O2 -o "$bin/floor_sendfile" floor_sendfile.c; run "$bin/floor_sendfile" 9002 "$www/100k.bin"; echo floor_sendfile:9002
cc -O2 -o "$bin/floor_ring" floor_ring.c -luring; run "$bin/floor_ring" 9003 1024; echo floor_ring:9003
port=9011
(($#)) || mapfile -t all < <(./architectures.sh "$weir")
(($#)) || set -- "${all[@]}"
for server in "$@"; do
  name=${server%%=*} flags=(); [ "$server" = "$name" ] || read -ra flags <<<"${server#*=}"
  run "$weir" serve "$www" --listen 10.77.0.1:$port --architecture "$name" "${flags[@]}"
  echo "$name:$port"; port=$((port + 1))
done
cat >/dev/null
