# Prints the lines "measure<TAB>program<TAB>figure", read twice, of whole rounds: where a launch of a measure failed ("-"),
# the other programs' launches of that round are left out too.
NR == FNR { if (++n[$1, $2] && $3 == "-") bad[$1, n[$1, $2]]; next }
++k[$1, $2] && !(($1, k[$1, $2]) in bad)
