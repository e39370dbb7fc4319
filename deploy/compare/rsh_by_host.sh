#!/bin/sh
# For compare_mpi.sh --fabric alone: what an MPI launcher in guest n1 calls in place of ssh. It writes the words into a
# file of the folder that the host sees; the host has the other guest's shell run them, and writes the exit code.
#   rsh_by_host.sh [-OPTION...] ADDRESS WORD...
folder=${RAILGAUGE_RSH_FOLDER:-/run/vfabric/shared}
while case ${1:-} in -*) ;; *) false ;; esac; do shift; done
ask=$folder/ask.$$
address=$1
shift
# As ssh does: the words in one line, which the other side's shell reads.
printf '%s\n' "$address" "$*" >"$ask.new" && mv "$ask.new" "$ask" || exit 255
until [ -e "$ask.done" ]; do sleep 0.05; done
code=$(cat "$ask.done")
rm -f "$ask.done"
exit "$code"
