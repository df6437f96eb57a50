#!/bin/bash
# Where the processor's time for a reply goes: the server on processor 0, 64 clients on processor 1, the loopback
# between them, 1 KB. perf(1) samples processor 0 while it is under load, and its symbols are sorted into the
# network's, the ring's, the kernel's other ones and the program's own, of these HTTP's. Each line is a round of one subject:
# replies/s, and microseconds for a reply. Needs root and perf. usage: profile.sh WEIR [ROUNDS [SUBJECT...]]
set -euo pipefail
weir=$(realpath "$1") rounds=${2:-5} port=${PORT:-9051}; subjects=("${@:3}")
((${#subjects[@]})) || subjects=(floor-completion tux proactor)
dir=$(mktemp -d) server=; trap 'kill $server 2>/dev/null || true; rm -r "$dir"' EXIT
mkdir "$dir/www"; head -c 1024 /dev/urandom >"$dir/www/1k.bin"
printf '%-18s %-7s %9s %6s %7s %5s %6s %5s %5s\n' subject keeps replies/s all network ring kernel own http
for ((round = 0; round < rounds; round++)); do
  for subject in "${subjects[@]}"; do
    for keeps in client request; do
      case $subject in
      floor-*) command=("$weir" lab floor "$subject" 127.0.0.1:$port "$dir/www/1k.bin");;
      *) command=("$weir" serve "$dir/www" --listen 127.0.0.1:$port --architecture "$subject" --admin off);;
      esac
      taskset -c 0 "${command[@]}" >"$dir/log" 2>&1 & server=$!
      until (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do sleep 0.05; done
      taskset -c 1 "$weir" load http://127.0.0.1:$port/1k.bin --clients 64 --keeps $keeps --warm-up 0.5 --duration 3 >"$dir/load" & load=$!
      sleep 0.8
      perf record -q -F 4000 -e cpu-clock -C 0 -o "$dir/data" -- sleep 2.4 >/dev/null 2>&1
      # It ends with 1 where it could not ask for more.
      wait $load || true; kill $server 2>/dev/null || true; wait $server || true; server=
      rate=$(awk '/^replies\/s/ { gsub(",", "", $2); print $2 }' "$dir/load")
      perf report -i "$dir/data" --no-children --sort dso,symbol --stdio 2>/dev/null | grep -v '^#' |
        awk -v rate="$rate" -v subject="$subject" -v keeps=$keeps '
          /%/ { share = $1; sub("%", "", share) }
          !/%/ || /safe_halt|cpuidle|do_idle|cpu_idle/ { next }
          { all += share }
          /\[\.\]/ { own += share; if (/h1::/) http += share; next }
          /io_|uring|ring_/ { ring += share; next }
          /tcp_|ip_|skb|__dev|loopback|net_rx|process_backlog|sock_|inet|bbr|kmem|slab|kfree|virt_to|copy_/ { network += share; next }
          { kernel += share }
          END { us = 1e4 / rate
            printf "%-18s %-7s %9d %6.2f %7.2f %5.2f %6.2f %5.2f %5.2f\n", subject, keeps, rate, all * us, network * us, ring * us, kernel * us, own * us, http * us }'
    done
  done
done
