#!/bin/bash
# Compares two builds of Weir: microseconds of CPU 0 (the server and its softirq) for each reply,
# and what depends less on the machine's mood, system calls and allocations for each reply. It
# judges nothing. For each pair both builds are started anew and asked one after the other, OLD
# first and NEW first in turn, so that what drifts meets both alike. A cell ends when the 95 %
# interval of NEW/OLD reaches at most 5 points to each side, after N pairs, or after its time.
# Needs root, wrk and cc; and perf (linux-perf), or system calls are not counted. It makes the two
# hosts of testbed.sh where they are not up. Without -a it asks all that both builds have.
# usage: pairs.sh [-a "ARCHITECTURE..."] [-c "1k 10k 100k 1m close"] [-n N] [-m MINUTES]
#                 [-s SECONDS] OLD NEW
set -euo pipefail
shopt -s inherit_errexit
export LC_ALL=C
architectures= cells="1k 100k close" pairs_max=15 minutes=15 seconds=1
usage() { sed -n '/^# usage/,/^#  /s/^# //p' "$0" >&2; exit 2; }
while getopts a:c:n:m:s: flag; do
  case $flag in
  a) architectures=$OPTARG;; c) cells=$OPTARG;; n) pairs_max=$OPTARG;;
  m) minutes=$OPTARG;; s) seconds=$OPTARG;; *) usage;;
  esac
done
shift $((OPTIND - 1)); (($# == 2)) || usage
# The interval of a few pairs is narrow by chance.
pairs_min=6
old=$(realpath -e "$1") new=$(realpath -e "$2")
declare -A build=([old]=$old [new]=$new) port=([old]=9101 [new]=9102)
cd "$(dirname "$0")"
source ratio.sh
named() { ./architectures.sh "$1" | sort; }
: "${architectures:=$(comm -12 <(named "$old") <(named "$new") | paste -sd' ')}"

main() {
  refuse_quota
  trap tidy_up EXIT; trap 'exit 130' INT; trap 'exit 143' TERM HUP
  make_place
  printf '%-9s %-5s %5s %8s %8s  %-24s %-8s %8s %8s %8s %8s\n' "" "" "" "us of" "CPU 0" \
    "NEW/OLD of medians" ended calls "per reply" allocs "per reply" \
    "" cell pairs OLD NEW "(95 % interval)" by OLD NEW OLD NEW
  local architecture
  for architecture in $architectures; do
    measure "$architecture"
    count "$architecture"
    tell "$architecture"
  done
}

measure() { # ARCHITECTURE: writes "OLD NEW" for each pair to $dir/ARCHITECTURE.CELL
  local until=$((SECONDS + minutes * 60 / $(wc -w <<<"$architectures")))
  local round=0 open=$cells cell order side
  declare -A us
  for cell in $cells; do echo minutes >"$dir/$1.$cell.by"; done
  while [ -n "$open" ] && ((SECONDS < until && round < pairs_max)); do
    order="old new"; ((round % 2 == 0)) || order="new old"
    round=$((round + 1))
    for side in $order; do start "$side" "$1"; done
    for cell in $open; do
      for side in $order; do us[$side]=$(us_per_reply "$side" "$cell"); done
      echo "${us[old]} ${us[new]}" >>"$dir/$1.$cell"
      if ((round >= pairs_min)) && narrow "$dir/$1.$cell"; then
        echo interval >"$dir/$1.$cell.by"; open=$(sed "s/\b$cell\b *//" <<<"$open")
      elif ((round == pairs_max)); then
        echo pairs >"$dir/$1.$cell.by"
      fi
    done
    stop_servers
  done
}

us_per_reply() { # SIDE CELL
  local clients=64 before after replies
  [ "$2" != close ] || { clients=256; forget_closed; }
  before=$(busy_ns); replies=$(ask "$1" "$2" $clients); after=$(busy_ns)
  awk -v ns=$((after - before)) -v n="$replies" 'BEGIN { printf "%.4f", ns / 1000 / n }'
}

# A closed connection keeps its ports for a minute; once most are kept, clients wait for ports.
forget_closed() {
  ip netns exec srv ss -HK state time-wait >/dev/null 2>&1 || true
  ip netns exec cli ss -HK state time-wait >/dev/null 2>&1 || true
}

# What CPU 0 has done for the servers. /proc/stat counts ticks of 10 ms and gives a whole one to
# whoever runs at its end. The kernel's account of idle time in /proc/timer_list is in nanoseconds,
# and interrupts are not idle in it. What is not idle is busy, without what the host took (steal)
# and what other processes had of this processor: the CPU accounts of all control groups tell that,
# less those of the servers and of ksoftirqd, which works for them. It is read on CPU 0, which then
# is not in the middle of an idle time.
busy_ns() {
  local accounts=()
  [ -z "$group" ] || accounts=("${group%/*}/$usage" "$group/$usage" "$softirqd")
  taskset -c 0 awk -v everybody="${accounts[0]:-}" '
    FILENAME == "/proc/stat" { if ($1 == "cpu0") steal = $9 * 1e7; next }
    FILENAME != "/proc/timer_list" { others += FILENAME == everybody ? $1 : -$1; next }
    /^now at/ { now = $3 }
    /^cpu:/ { cpu = $2 }
    cpu == 0 && /(idle|iowait)_sleeptime/ { idle += $3 }
    END { printf "%.0f", now - idle - steal - others }
  ' /proc/stat /proc/timer_list "${accounts[@]}"
}

ask() { # SIDE CELL CLIENTS [COMMAND...], which runs the clients: how many replies came
  local file=$2 header=()
  [ "$2" != close ] || file=1k header=(-H "Connection: close")
  "${@:4}" ip netns exec cli taskset -c 1 nice -n -20 wrk -t1 -c"$3" -d"$seconds" \
    "${header[@]}" "http://$host:${port[$1]}/$file.bin" >"$dir/wrk"
  if grep -q Non-2xx "$dir/wrk"; then echo "$1 does not serve $file.bin" >&2; return 1; fi
  awk '/requests in/ { n = $1 } END { print n; exit !n }' "$dir/wrk"
}

# Writes "CALLS ALLOCATIONS" per reply to $dir/ARCHITECTURE.CELL.SIDE. One client asks: with many,
# how much one call does depends on how many of them happen to be ready.
count() { # ARCHITECTURE
  local side cell before after replies calls
  for side in old new; do
    : >"$dir/allocations"
    start $side "$1" LD_PRELOAD="$dir/allocations.so" WEIR_ALLOCATIONS="$dir/allocations"
    for cell in $cells; do
      calls=none before=$(allocations)
      if [ -n "$perf" ]; then
        replies=$(ask $side "$cell" 1 "$perf" stat -x, -o "$dir/calls" \
          -e raw_syscalls:sys_enter -p "$(tree "${servers[0]}" | paste -sd,)")
        calls=$(awk -F, '/sys_enter/ { print $1 }' "$dir/calls")
      else
        replies=$(ask $side "$cell" 1)
      fi
      after=$(allocations)
      # Whoever serves has allocated: none at all means that the library was not loaded.
      awk -v n="$replies" -v calls="$calls" -v from="$before" -v to="$after" 'BEGIN {
        printf (calls ~ /^[0-9]+$/ ? "%.3f" : "-"), calls / n
        printf (from > 0 ? " %.3f\n" : " -\n"), (to - from) / n
      }' >"$dir/$1.$cell.$side"
    done
    stop_servers
  done
}

allocations() { od -An -tu8 "$dir/allocations" | awk '{ n = $1 } END { print n + 0 }'; }

tree() { echo "$1"; local child; for child in $(pgrep -P "$1"); do tree "$child"; done; }

narrow() { ratio "$1" | awk '{ exit !($4 - $5 <= 0.05 && $6 - $4 <= 0.05) }'; }

tell() { # ARCHITECTURE
  local cell row
  for cell in $cells; do
    [ -s "$dir/$1.$cell" ] || { echo "$1 $cell: no pair in its time"; continue; }
    read -ra row < <(ratio "$dir/$1.$cell")
    read -ra calls < <(paste -d' ' "$dir/$1.$cell.old" "$dir/$1.$cell.new")
    printf '%-9s %-5s %5d %8.2f %8.2f  %.3f (%.3f to %.3f)   %-8s %8s %8s %8s %8s\n' \
      "$1" "$cell" "${row[@]}" "$(cat "$dir/$1.$cell.by")" \
      "${calls[0]}" "${calls[2]}" "${calls[1]}" "${calls[3]}"
  done
}

start() { # SIDE ARCHITECTURE [ENVIRONMENT...]
  ( [ -z "$group" ] || echo $BASHPID >"$group/cgroup.procs"
    # Whoever else is on these processors gets next to nothing while there is work to do.
    exec ip netns exec srv taskset -c 0 nice -n -20 env "${@:3}" "${build[$1]}" serve "$dir/www" \
      --listen "$host:${port[$1]}" --architecture "$2" ) >"$dir/log" 2>&1 </dev/null &
  servers+=($!)
  local file; for file in "$dir"/www/*; do await "$1" "${file##*/}"; done
}

await() { # SIDE FILE: until it is served, and so in memory
  for _ in {1..200}; do
    ! ip netns exec cli bash -c "exec 3<>/dev/tcp/$host/${port[$1]} || exit
      printf 'GET /$2 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n' >&3
      read -r _ status _ <&3; cat <&3 >/dev/null; ((status == 200))" 2>/dev/null || return 0
    sleep 0.05
  done
  echo "$1 does not serve $2; its last lines were" >&2; tail -3 "$dir/log" >&2
  exit 1
}

stop_servers() {
  ((${#servers[@]})) || return 0
  kill "${servers[@]}" 2>/dev/null || true; wait "${servers[@]}" || true
  servers=()
}

refuse_quota() {
  local file
  for file in /sys/fs/cgroup/cpu/*/cpu.cfs_quota_us; do
    [ -e "$file" ] && [ "$(cat "$file")" != -1 ] && [ -s "${file%/*}/cgroup.procs" ] || continue
    echo "a CPU quota is still set: $file (testbed.sh quota 100)" >&2; exit 2
  done
}

make_place() {
  dir=$(mktemp -d); chmod 755 "$dir"; mkdir "$dir/www"
  local size
  for size in 1k:1024 10k:10240 100k:102400 1m:1048576; do
    head -c "${size#*:}" /dev/urandom >"$dir/www/${size%:*}.bin"
  done
  cc -O2 -shared -fPIC -o "$dir/allocations.so" allocations.c
  perf=$(command -v perf) || echo "perf is not here: system calls are not counted"
  if [ -w "$accounts/cgroup.procs" ] && mkdir "$accounts/weir-pairs.$$"; then
    group=$accounts/weir-pairs.$$
  else
    echo "no CPU accounts in $accounts: others on CPU 0 count as the server"
  fi
  ip netns list | grep -qE '^(srv|cli)\b' || { testbed=made; ./testbed.sh up; }
}

tidy_up() {
  stop_servers
  [ -z "$testbed" ] || ./testbed.sh down
  [ -z "$group" ] || rmdir "$group"
  rm -rf "$dir"
}

host=10.77.0.1 dir= group= testbed= perf= servers=()
accounts=/sys/fs/cgroup/cpuacct usage=cpuacct.usage_percpu
softirqd=/proc/$(pgrep -x ksoftirqd/0)/schedstat
main
