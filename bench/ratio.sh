#!/bin/bash
# Sourced by what compares pairs.

# The number of pairs, both medians, their ratio and its 95 % interval: of 2,000 draws of as many
# pairs, the middle 95 % of ratios. The draws are the same each time.
ratio() { # FILE
  local program='
    function median(of, n,   i, j, v) {
      for (i = 2; i <= n; i++) {
        v = of[i]
        for (j = i - 1; j > 0 && of[j] > v; j--) of[j + 1] = of[j]
        of[j + 1] = v
      }
      return (of[int((n + 1) / 2)] + of[int(n / 2) + 1]) / 2
    }
    function drawn() { seed = seed * 16807 % 2147483647; return seed % NR + 1 }
    { old[NR] = a[NR] = $1 + 0; new[NR] = b[NR] = $2 + 0 }
    END {
      if (!draws) { o = median(a, NR); n = median(b, NR); print NR, o, n, n / o }
      for (seed = 1; draws > 0; draws--) {
        for (i = 1; i <= NR; i++) { j = drawn(); a[i] = old[j]; b[i] = new[j] }
        print median(b, NR) / median(a, NR)
      }
    }'
  echo "$(awk "$program" "$1")" \
    $(awk -v draws=2000 "$program" "$1" | sort -n | sed -n '51p;1950p')
}
