# Turns "PROGRAM:BYTES<TAB>ours|theirs|again<TAB>figure" lines into rows of compare_launches. A rate is turned over, so
# that above 1 always means slower. The second control adds 20 % to the figures of OSU's second launch.
BEGIN { FS = OFS = "\t"; cost = 1.2 }
{
  split($1, part, ":")
  is_rate = part[1] ~ /bw$/ || part[1] == "osu_mbw_mr"
  value = is_rate ? 1e6 / $3 : $3
  unit = part[1] == "osu_mbw_mr" ? "us a message" : is_rate ? "us a MB" : "us"
  name = part[1] (part[1] == "osu_barrier" ? "" : " " part[2] " B")
}
$2 == "ours" { print name ", " unit, "equal", "ours", value }
$2 == "theirs" { print name ", " unit, "equal", "theirs", value; print name ": against itself", "holds_one", "theirs", value; print name ": with 20 % added", "excludes_one", "theirs", value }
$2 == "again" { print name ": against itself", "holds_one", "ours", value; print name ": with 20 % added", "excludes_one", "ours", value * cost }
