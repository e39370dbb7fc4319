# Adds to each compared row of compare_launches' table whether it is within 5 %, or else its interval. With markdown=1:
# prints those rows alone, as a Markdown table, each with the ratios of its two controls, which follow it. A row whose
# control failed says that in place of a statement.
function statement() { return ratio >= 0.95 && ratio <= 1.05 ? "within 5 %" : "interval " low " to " high }
function flush() {
  if (name != "") printf "| %s | %s | %s | %s | %s | %s to %s | %s | %s | %s |\n", name, launches, ours, theirs, ratio, low, high, itself, added, failed ? "invalid: a control failed" : statement()
  name = ""
}
BEGIN { if (markdown) print "| program | launches | ours | OSU | ratio | 95 % interval | OSU against itself | OSU with 20 % added | |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |" }
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
