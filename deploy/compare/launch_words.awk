# Reads compare_launches' table. Without `markdown` it adds to each compared row whether it is within 5 %, or else its
# interval. With markdown=1 it prints those rows alone, as a Markdown table, each with the ratios of its two controls,
# which follow it; a row whose control failed says that it is invalid, and one without controls says so.
#   titles  the first header cells; a row's name has as many, separated by "; "
#   peer    the other program's name in the header
#   within  1: the last cell says `within 5 %`, or the interval
#   medians 1: a column with the ratio of the medians; that of a geometric mean is the mean of those of the KiB rows above
function statement() { return ratio >= 0.95 && ratio <= 1.05 ? "within 5 %" : "interval " low " to " high }
function cells(text) { gsub(/; /, " | ", text); return text }
function middle(  ratio) {
  if (name !~ /geometric mean/) {
    if (name ~ / KiB$/) { logs += log(ours / theirs); rows++ }
    return sprintf("%.3f", ours / theirs)
  }
  ratio = rows ? sprintf("%.3f", exp(logs / rows)) : "-"
  logs = rows = 0
  ours = theirs = ""
  return ratio
}
function flush(  last, of_medians) {
  if (name == "") return
  if (name !~ / KiB$/) logs = rows = 0
  of_medians = medians ? middle() " | " : ""
  last = failed ? "invalid: a control failed" : itself == "-" ? "no control" : within ? statement() : ""
  printf "| %s | %s | %s | %s | %s%s | %s to %s | %s | %s | %s |\n", cells(name), launches, ours, theirs, of_medians, ratio, low, high, itself, added, last
  name = ""
}
BEGIN {
  if (markdown) {
    printf "| %s | launches | ours | %s | %s | 95 %% interval | %s against itself | %s with 20 %% added | |\n", cells(titles), peer, medians ? "ratio of medians | paired ratio" : "ratio", peer, peer
    count = split(titles, each, "; ")
    printf "|"
    for (i = 1; i <= count; i++) printf each[i] ~ /^(ranks|size)$/ ? " ---: |" : " --- |"
    for (i = medians ? -1 : 0; i < 7; i++) printf " ---: |"
    print " --- |"
  }
}
match($0, / +[0-9]+ +[0-9.e+-]+ +[0-9.e+-]+ +[0-9.]+ +[0-9.]+ to +[0-9.]+ +equal/) {
  if (markdown) flush()
  name = substr($0, 1, RSTART - 1)
  split(substr($0, RSTART), f, " ")
  launches = f[1]; ours = f[2]; theirs = f[3]; ratio = f[4]; low = f[5]; high = f[7]
  itself = added = "-"; failed = 0
  if (!markdown) print $0 "; " statement()
  next
}
match($0, / +[0-9]+ +[0-9.e+-]+ +[0-9.e+-]+ +[0-9.]+ +[0-9.]+ to +[0-9.]+ +control, /) {
  split(substr($0, RSTART), f, " ")
  if ($0 ~ /: against itself /) itself = f[4]; else added = f[4]
  if ($0 ~ /INVALID/) failed = 1
}
!markdown { print }
END { if (markdown) flush() }
