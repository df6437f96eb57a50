#!/usr/bin/env bash
# Three replicas and HAProxy, each replica in a network namespace of its own, for as long as a
# command runs. Without one that is a shell. Needs root, haproxy, iproute2, and weir on the PATH or
# in WEIR.
#
#     examples/fleet/run.sh
#     examples/fleet/run.sh curl -s http://10.20.0.1/
#
# All of it is in namespaces that end with this script, whichever way it ends.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
weir=$(command -v "${WEIR:-weir}")
site=${SITE:-$here/../site}

if [[ -z ${FLEET_RUN:-} ]]; then
    FLEET_RUN=$(mktemp -d)
    export FLEET_RUN
    trap 'rm -rf "$FLEET_RUN"' EXIT
    unshare --net --mount --pid --fork --kill-child --mount-proc "$here/run.sh" "$@"
    exit
fi

# Names of network namespaces are files; here they are nobody else's.
mount -t tmpfs tmpfs /run
ip link set lo up
ip link add name fleet type bridge
ip addr add 10.20.0.1/24 dev fleet
ip link set fleet up

for n in 1 2 3; do
    ip netns add "weir$n"
    ip link add name "weir$n" type veth peer name eth0 netns "weir$n"
    ip link set "weir$n" master fleet up
    ip -n "weir$n" addr add "10.20.0.1$n/24" dev eth0
    ip -n "weir$n" link set eth0 up
    ip netns exec "weir$n" "$weir" serve "$site" --config "$here/weir.toml" \
        >"$FLEET_RUN/weir$n.log" 2>&1 </dev/null &
    echo $! >"$FLEET_RUN/weir$n.pid"
done

# HAProxy takes every replica for ready until it knows better.
for n in 1 2 3; do
    until grep -q ': serving ' "$FLEET_RUN/weir$n.log"; do
        if ! kill -0 "$(<"$FLEET_RUN/weir$n.pid")"; then
            cat "$FLEET_RUN/weir$n.log" >&2
            exit 1
        fi
        sleep 0.1
    done
done
haproxy -f "$here/haproxy.cfg" >"$FLEET_RUN/haproxy.log" 2>&1 </dev/null &
haproxy=$!
until [[ -S $FLEET_RUN/haproxy.sock ]]; do
    if ! kill -0 "$haproxy"; then
        cat "$FLEET_RUN/haproxy.log" >&2
        exit 1
    fi
    sleep 0.1
done

if (($#)); then
    "$@"
else
    echo "the fleet answers on http://10.20.0.1/; logs and process numbers are in $FLEET_RUN"
    bash
fi
