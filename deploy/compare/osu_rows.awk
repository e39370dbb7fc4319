# Turns "MPI RANKS PROGRAM:BYTES<TAB>ours|theirs|again<TAB>figure" lines into rows of compare_launches. A rate is turned
# over, so that above 1 always means slower. The second control adds 20 % to the figures of OSU's second launch. A measure
# with fewer than six whole rounds has no row, because an interval of 95 % needs six; its name and count go into the file
# `few`. Read twice: the first time it counts.
BEGIN { FS = OFS = "\t"; cost = 1.2 }
{
  split($1, word, " ")
  split(word[3], part, ":")
  is_rate = part[1] ~ /bw(_persistent|_fan_in|_fan_out)?$/ || part[1] == "osu_mbw_mr"
  unit = part[1] == "osu_mbw_mr" ? "us a message" : is_rate ? "us a MB" : "us"
  name = (word[1] == "mpich" ? "MPICH" : "Open MPI") "; " word[2] "; " part[1] (part[1] ~ /^osu_(i?barrier|init)$/ ? "" : " " part[2] " B") (part[3] == "" ? "" : " " part[3])
}
NR == FNR { if ($2 == "ours") rounds[$1]++; next }
rounds[$1] < 6 { if (!told[$1]++) { sub(/; /, ", ", name); sub(/; /, " ranks, ", name); print name ": " rounds[$1] + 0 " whole rounds, 6 are wanted" > few }; next }
{ value = is_rate ? 1e6 / $3 : $3 }
$2 == "ours" { print name ", " unit, "equal", "ours", value }
$2 == "theirs" { print name ", " unit, "equal", "theirs", value; print name ": against itself", "holds_one", "theirs", value; print name ": with 20 % added", "excludes_one", "theirs", value }
$2 == "again" { print name ": against itself", "holds_one", "ours", value; print name ": with 20 % added", "excludes_one", "ours", value * cost }
