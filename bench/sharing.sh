#!/bin/bash
# What a cache for each process costs, and what one for all does (Pariag07 5.2): memory (PSS, in KiB) and open
# descriptors of all processes together, before the first request and when each process that has a cache of its own
# has served FILES files, kept by their descriptors. Then the same for 200 processes and 25,000 files, by a line
# through the most processes and one. usage: sharing.sh WEIR [FILES]
set -euo pipefail
weir=$(realpath "$1") files=${2:-500} port=${PORT:-9041} most=32
dir=$(mktemp -d); trap 'kill $server 2>/dev/null || true; rm -r "$dir"' EXIT
server=
mkdir "$dir/www"
for ((n = 0; n < files; n++)); do head -c 1024 /dev/zero >"$dir/www/$n.bin"; done
for ((n = 0; n < files; n++)); do printf 'url = "http://127.0.0.1:%d/%d.bin"\noutput = /dev/null\n' "$port" "$n"; done >"$dir/all"
tree() { echo "$1"; for child in $(pgrep -P "$1"); do tree "$child"; done; }
pss() { for pid in $(tree "$server"); do cat "/proc/$pid/smaps_rollup"; done | awk '/^Pss:/ { k += $2 } END { print k }'; }
# Of each table once: processes that share one have the same entries.
open() { # NAME
  local all=0 seen=
  for pid in $(tree "$server"); do
    if [ "$1" = shared-symped ] && [ "$pid" != "$server" ]; then [ -z "$seen" ] || continue; seen=1; fi
    all=$((all + $(ls "/proc/$pid/fd" | wc -l)))
  done
  echo $all
}
printf '%-14s %9s %11s %11s %12s %12s\n' server processes start_KiB filled_KiB start_open filled_open | tee "$dir/table"
for name in symped shared-symped; do
  for n in 1 2 4 8 16 $most; do
    flags=(--small-file-kb 0 --answer-age-ms 600000 --admin off --processes "$n")
    # Who has a cache of its own is asked by as many clients as the others.
    [ "$name" = symped ] && flags+=(--listener-queues own)
    "$weir" serve "$dir/www" --listen "127.0.0.1:$port" --architecture "$name" "${flags[@]}" >"$dir/log" 2>&1 & server=$!
    until (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && [ "$(grep -c 'serves as process' "$dir/log")" -ge "$n" ]; do sleep 0.1; done
    start=$(pss) start_open=$(open $name)
    clients=$((8 * n)); [ "$name" = symped ] || clients=1
    seq $clients | xargs -P 8 -I{} curl -s -K "$dir/all"
    printf '%-14s %9d %11d %11d %12d %12d\n' "$name" "$n" "$start" "$(pss)" "$start_open" "$(open $name)" | tee -a "$dir/table"
    kill $server; wait $server || true
  done
done
awk -v files="$files" -v most=$most '
  NR > 1 { m0[$1, $2] = $3; m[$1, $2] = $4; d0[$1, $2] = $5; d[$1, $2] = $6 }
  # What one more process costs, and one more file of all, which with caches of their own is one for each process.
  function at(zero, full, name, more,  base, process, file, one) {
    process = (zero[name, most] - zero[name, 1]) / (most - 1); base = zero[name, 1] - process
    one = (full[name, 1] - zero[name, 1]) / files
    file = (full[name, most] - zero[name, most]) / files
    return base + 200 * process + 25000 * (one + (file - one) / (most - 1) * 199)
  }
  END { for (i = split("symped shared-symped", names); i; i--)
    printf "%s, 200 processes and 25,000 files: %.0f MiB, %.0f descriptors\n", names[i], at(m0, m, names[i]) / 1024, at(d0, d, names[i]) }
' "$dir/table"
