# Adds to each compared row of compare_launches' table whether it is within 5 %, or else its interval. With markdown=1:
# prints those rows alone, as a Markdown table.
function statement() { return ratio >= 0.95 && ratio <= 1.05 ? "within 5 %" : "interval " low " to " high }
BEGIN { if (markdown) print "| program | launches | ours | OSU | ratio | 95 % interval | |\n| --- | ---: | ---: | ---: | ---: | ---: | --- |" }
match($0, / +[0-9]+ +[0-9.e+-]+ +[0-9.e+-]+ +[0-9.]+ +[0-9.]+ to +[0-9.]+ +equal/) {
  name = substr($0, 1, RSTART - 1)
  split(substr($0, RSTART), f, " ")
  launches = f[1]; ours = f[2]; theirs = f[3]; ratio = f[4]; low = f[5]; high = f[7]
  if (markdown) printf "| %s | %s | %s | %s | %s | %s to %s | %s |\n", name, launches, ours, theirs, ratio, low, high, statement()
  else print $0 "; " statement()
  next
}
!markdown { print }
