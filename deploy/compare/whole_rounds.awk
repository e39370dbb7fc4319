# Prints the lines "measure<TAB>program<TAB>figure", read twice, of whole rounds: where a launch of a measure failed ("-")
# or is lacking, because the run was stopped, the other programs' launches of that round are left out too.
NR == FNR { if (++n[$1, $2] && $3 == "-") bad[$1, n[$1, $2]]; next }
FNR == 1 { for (key in n) { split(key, part, SUBSEP); if (!(part[1] in least) || n[key] < least[part[1]]) least[part[1]] = n[key] } }
++k[$1, $2] && k[$1, $2] <= least[$1] && !(($1, k[$1, $2]) in bad)
