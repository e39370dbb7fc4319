#!/bin/bash
# Asks this node's agent for the verdict of its last preflight, in less than a second, and prints one line:
#   pass TIME                 every check of it is pass, warn, waived or unknown
#   fail TIME CHECK,CHECK     these failed; TIME is the preflight's, in seconds since 1970
#   unknown REASON            no agent answers, it has made no preflight, or the last one is too old
# Exit 0 always. The agent's /metrics has the verdict; where web_config_file guards that page, the answer is unknown.
#   RAILGAUGE_METRICS        address of the agent's /metrics [127.0.0.1:7471]
#   RAILGAUGE_VERDICT_SECONDS  how long it may take to answer [0.8]
#   RAILGAUGE_VERDICT_HOURS  older preflights are no verdict [26]
address=${RAILGAUGE_METRICS:-127.0.0.1:7471} hours=${RAILGAUGE_VERDICT_HOURS:-26}

# In a process of its own, which timeout can end while it connects or reads.
export address
# shellcheck disable=SC2016
page=$(timeout "${RAILGAUGE_VERDICT_SECONDS:-0.8}" bash -c 'exec 3<>"/dev/tcp/${address%:*}/${address##*:}" || exit
  printf "GET /metrics HTTP/1.0\r\nHost: localhost\r\nConnection: close\r\n\r\n" >&3; cat <&3' 2>/dev/null)
if [ -z "$page" ]; then echo "unknown no agent answers at $address"; exit 0; fi
awk -v now="$(date +%s)" -v hours="$hours" '
  $1 == "railgauge_preflight_timestamp_seconds" { at = $2 }
  /^railgauge_preflight_results\{.*state="fail"/ && $NF > 0 {
    match($0, /check="[a-z0-9_]+"/); failed = failed (failed == "" ? "" : ",") substr($0, RSTART + 7, RLENGTH - 8)
  }
  END {
    if (at == 0) print "unknown no preflight was made"
    else if (now - at > hours * 3600) printf "unknown the last preflight is %d h old\n", (now - at) / 3600
    else if (failed != "") printf "fail %d %s\n", at, failed
    else printf "pass %d\n", at
  }' <<<"$page"
exit 0
