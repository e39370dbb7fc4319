# The figure of one of OSU's programs from what it printed: `column` of the line of `bytes`. A barrier has no bytes, the
# calls on one number have a line of four bytes, and MPI_Init has whole milliseconds, printed here in us.
/^#/ { next }
program == "osu_init" { if (match($0, /avg: [0-9]+ ms/)) print 1000 * substr($0, RSTART + 5, RLENGTH - 8); next }
program == "osu_barrier" || program == "osu_barrier_persistent" { if (NF == 1) print $1; next }
program == "osu_ibarrier" { if (NF > 1 && $1 ~ /^[0-9.]+$/) print $column; next }
program ~ /^osu_(fop|cas)_latency$/ { if (NF > 1 && $1 == 4) print $2; next }
NF > 1 && $1 == bytes { print $column }
