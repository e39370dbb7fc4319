#!/bin/sh
# The command that an MPI launcher in guest n1 calls in place of ssh, for compare_mpi.sh --fabric alone. It writes its
# words into a file in a folder shared with the host. The host runs them in the other guest's shell and writes the
# exit code.
#   rsh_by_host.sh [-OPTION...] ADDRESS WORD...
folder=${RAILGAUGE_RSH_FOLDER:-/run/vfabric/shared}
while case ${1:-} in -*) ;; *) false ;; esac; do shift; done
ask=$folder/ask.$$
address=$1
shift
# Joins the words into one line for the other side's shell, as ssh does.
printf '%s\n' "$address" "$*" >"$ask.new" && mv "$ask.new" "$ask" || exit 255
until [ -e "$ask.done" ]; do sleep 0.05; done
code=$(cat "$ask.done")
rm -f "$ask.done"
exit "$code"
