# Turns compare_nccl.sh's kept launches, lines of side, test, size, us, GB/s, into rows of compare_launches: the time of
# the smallest message that both moved in every launch, with mpi=1 also of 2 KiB to 512 KiB and, launch by launch, their
# geometric mean, and bus bandwidths from 2 MiB on. The controls are times in every row: theirs a second time in
# the round ("again") against theirs, and with 20 % added. Launches without `again` take theirs against theirs of the
# round before; these pairs overlap. With fewer than six pairs a row has no control.
BEGIN { FS = OFS = "\t"; CONVFMT = "%.15g"; cost = 1.2 }
$3 ~ /^[0-9]+$/ {
  if (!($2 in seen)) { seen[$2] = 1; tests[++n] = $2 }
  k = ++count[$1, $2, $3]
  time[$1, $2, $3, k] = $4; rate[$1, $2, $3, k] = $5
}
function bytes(size) { return size >= 1073741824 ? size / 1073741824 " GiB" : size >= 1048576 ? size / 1048576 " MiB" : size >= 1024 ? size / 1024 " KiB" : size " B" }
function whole(test, size) { return count["ours", test, size] == rounds && count["theirs", test, size] == rounds }
# The figure of a launch: a bandwidth of one size, a time of one size, or the geometric mean of the small sizes' times.
function figure(side, test, size, k, kind,  i, logs) {
  if (kind == "rate") return rate[side, test, size, k]
  if (kind == "time") return time[side, test, size, k]
  for (i = 1; i <= small; i++) logs += log(time[side, test, sizes[i], k])
  return exp(logs / small)
}
function control(name, slower, base) {
  print name ": against itself", "holds_one", "ours", slower
  print name ": against itself", "holds_one", "theirs", base
  print name ": with 20 % added", "excludes_one", "ours", slower * cost
  print name ": with 20 % added", "excludes_one", "theirs", base
}
function seconds(side, test, size, k, kind) { return kind == "rate" ? 1 / figure(side, test, size, k, kind) : figure(side, test, size, k, kind) }
function row(name, test, size, kind,  k) {
  for (k = 1; k <= rounds; k++) {
    print name, "equal", "ours", figure("ours", test, size, k, kind)
    print name, "equal", "theirs", figure("theirs", test, size, k, kind)
  }
  if (count["again", test, size] == rounds)
    for (k = 1; k <= rounds; k++) control(name, seconds("again", test, size, k, kind), seconds("theirs", test, size, k, kind))
  else if (rounds > 6)
    for (k = 2; k <= rounds; k++) control(name, seconds("theirs", test, size, k, kind), seconds("theirs", test, size, k - 1, kind))
}
END {
  for (t = 1; t <= n; t++) {
    test = tests[t]
    short = test
    sub(/_perf$/, "", short)
    for (size = 8; size <= 32768 && !whole(test, size); size *= 4) continue
    if (size < 2048 || !mpi && size <= 32768) row(short "; time us; " bytes(size), test, size, "time")
    small = 0
    for (size = 2048; mpi && size <= 524288; size *= 4) if (whole(test, size)) {
      sizes[++small] = size
      row(short "; time us; " bytes(size), test, size, "time")
    }
    if (small) row(short "; geometric mean of the times, us; " bytes(sizes[1]) " to " bytes(sizes[small]), test, sizes[1], "mean")
    for (size = 2097152; size <= 8589934592; size *= 4)
      if (whole(test, size)) row(short "; busbw GB/s; " bytes(size), test, size, "rate")
  }
}
