# shellcheck shell=bash disable=SC2034,SC2154 # settings are shared with ../vfabric and its other parts
# Prints the state of the fabric as a table or as JSON.

# node_state N: prints booted, booting, frozen or dead, as read from the process itself.
node_state() {
  local dir pid rest
  dir=$(node_dir "$1")
  pid=$(running "$dir/qemu.pid") || { echo dead; return; }
  { read -r rest <"/proc/$pid/stat"; } 2>/dev/null || { echo dead; return; }
  rest=${rest##*) }
  if [ "${rest%% *}" = T ]; then
    echo frozen
  elif [ -e "$dir/ready" ]; then
    echo booted
  else
    echo booting
  fi
}

node_kernel() { cat -- "$(node_dir "$1")/kernel" 2>/dev/null; }
node_faults() { sort -- "$(node_dir "$1")/faults" 2>/dev/null; }

print_json() {
  local node kind value comma='' inner
  printf '{"schema_version":1,"network":"%s","mtu_bytes":%s,"accelerator":"%s","state_dir":%s,"nodes":[' \
    "$network" "$mtu" "$accelerator" "$(json_text "$state")"
  for ((node = 1; node <= nodes; ++node)); do
    printf '%s{"name":"n%s","state":"%s","address":"192.0.2.%s","linux_kernel":"%s","exec_port":%s,"metrics_port":%s,"faults":[' \
      "$comma" "$node" "$(node_state "$node")" "$node" "$(node_kernel "$node")" \
      "$(ssh_port "$node")" "$(metrics_port "$node")"
    inner=
    while read -r kind value; do
      printf '%s{"kind":"%s","value":"%s"}' "$inner" "$kind" "$value"
      inner=,
    done < <(node_faults "$node")
    printf ']}'
    comma=,
  done
  printf ']}\n'
}

json_text() {
  local text=${1//\\/\\\\}
  printf '"%s"' "${text//\"/\\\"}"
}

print_table() {
  local node faults format='%-5s %-8s %-12s %-9s %-13s %-34s %s\n'
  # shellcheck disable=SC2059
  printf "$format" node state address exec-port metrics-port kernel faults
  for ((node = 1; node <= nodes; ++node)); do
    faults=$(node_faults "$node" | paste -sd, -)
    # shellcheck disable=SC2059
    printf "$format" "n$node" "$(node_state "$node")" "192.0.2.$node" "$(ssh_port "$node")" \
      "$(metrics_port "$node")" "$(node_kernel "$node")" "${faults:--}"
  done
  printf 'network %s, mtu %s, %s; state in %s\n' "$network" "$mtu" "$accelerator" "$state"
}

cmd_status() {
  local format=table
  case "$*" in
    '' | '--format table') ;;
    '--format json' | '-o json' | '--format=json') format=json ;;
    *) die 2 "status [--format table|json]" ;;
  esac
  print_$format
}
