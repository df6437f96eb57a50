#!/bin/bash
# Sourced by what compares pairs.

# The number of pairs, both medians, their ratio and its 95 % interval. Of ten pairs and more it is
# the bootstrap's: of 2,000 draws of as many pairs, the middle 95 % of ratios. The draws are the same
# each time. Of fewer that is too narrow (of three it misses the truth in one of four cases), and
# Student's t tells, of each pair's difference as a share of its sum. crates/lab/src/compare.rs has
# the same rule, and its tests show how often each misses.
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
    function ratio(share) {
      return share >= 1 ? "inf" : share <= -1 ? 0 : (1 + share) / (1 - share)
    }
    { old[NR] = a[NR] = $1 + 0; new[NR] = b[NR] = $2 + 0 }
    {
      share = $1 == $2 ? 0 : ($2 - $1) / ($2 + $1)
      away = share - mean; mean += away / NR; squares += away * (share - mean)
    }
    END {
      if (!draws) { o = median(a, NR); n = median(b, NR); print NR, o, n, o ? n / o : n ? "inf" : 1; exit }
      if (NR < 10) {
        split("inf 12.706 4.303 3.182 2.776 2.571 2.447 2.365 2.306", t)
        # One pair tells nothing.
        reach = NR < 2 ? 2 : t[NR] * sqrt(squares / (NR - 1) / NR)
        o = median(a, NR); n = median(b, NR); middle = o ? n / o : n ? "inf" : 1
        low = ratio(mean - reach); high = ratio(mean + reach)
        print (low > middle ? middle : low), (high < middle ? middle : high)
        exit
      }
      for (seed = 1; draws > 0; draws--) {
        for (i = 1; i <= NR; i++) { j = drawn(); a[i] = old[j]; b[i] = new[j] }
        print median(b, NR) / median(a, NR)
      }
    }'
  echo "$(awk "$program" "$1")" \
    $(awk -v draws=2000 "$program" "$1" | sort -n | sed -n '1{$p};51p;1950p')
}
