#!/bin/bash
# Reads the verdict of this node's last preflight, in less than a second, and prints one line or two:
#   pass TIME                 no check failed or was in error; TIME is the preflight's, in seconds since 1970
#   fail TIME CHECK,CHECK     these failed
#   unknown REASON            the agent has made no preflight, the last one is too old, or a check was in error
#   passed CHECK,CHECK        the second line after pass and fail: checks that were made, passed, and nothing else of
#                             them is fail, error or unknown
# Exit 0 always. The agent keeps the verdict in a file of its state folder. Only root and the agent may read it, and a
# folder in which others may write is not believed: a port of the agent could be bound by anybody while it is down.
#   RAILGAUGE_AGENT_STATE    the agent's state folder, without links [/var/lib/railgauge-agent]
#   RAILGAUGE_VERDICT_SECONDS  how long reading may take [0.8]
#   RAILGAUGE_VERDICT_HOURS  older preflights are no verdict [26]
# In processes that timeout ends: a name service may hang as well as a file system.
if [ -z "${RAILGAUGE_VERDICT_INNER:-}" ]; then
  seconds=${RAILGAUGE_VERDICT_SECONDS:-0.8}
  { RAILGAUGE_VERDICT_INNER=1 timeout -s KILL "$seconds" "$0"; } 2>/dev/null || echo "unknown the verdict was not read within $seconds s"
  exit 0
fi
folder=${RAILGAUGE_AGENT_STATE:-/var/lib/railgauge-agent} hours=${RAILGAUGE_VERDICT_HOURS:-26}
unknown() { echo "unknown $1"; exit 0; }

# The checks are of the folder that the process is in, so that no exchange of a path comes between.
cd -P "$folder" 2>/dev/null || unknown "no folder $folder that this user may read"
[ "$(pwd -P)" = "$folder" ] || unknown "the path $folder has links"
read -r owner mode <<<"$(stat -c '%u %A' .)"
case $owner in
  0 | "$(id -u)" | "$(id -u railgauge-agent 2>/dev/null)") ;;
  *) unknown "$folder belongs to neither root nor railgauge-agent" ;;
esac
case $mode in d????-??-?) ;; *) unknown "others may write $folder" ;; esac
[ -e agent-shown ] || unknown "no preflight was made"
if [ -L agent-shown ] || [ ! -f agent-shown ] || [ "$(stat -c %u agent-shown)" != "$owner" ]; then
  unknown "$folder/agent-shown is no file of the agent"
fi

# Bounded, since root's shell holds it.
page=$(head -c 1048576 agent-shown 2>/dev/null) || unknown "$folder/agent-shown cannot be read"
awk -v now="$(date +%s)" -v hours="$hours" '
  function list(of, text, i) {
    for (i = 1; i <= count; ++i) if (of[name[i]] > 0) text = text (text == "" ? "" : ",") name[i]
    return text
  }
  $1 == "railgauge_preflight_timestamp_seconds{}" { at = $2 }
  match($0, /^railgauge_preflight_results\{check="[a-z0-9_]+",state="[a-z]+"\} /) && $NF > 0 {
    split($0, part, "\"")
    if (!(part[2] in seen)) { seen[part[2]] = 1; name[++count] = part[2] }
    if (part[4] == "fail") failed[part[2]] = 1
    else if (part[4] == "error") broken[part[2]] = 1
    else if (part[4] == "pass") passed[part[2]] = 1
    if (part[4] ~ /^(fail|error|unknown)$/) open[part[2]] = 1
  }
  END {
    for (check in open) passed[check] = 0
    if (at == 0) print "unknown no preflight was made"
    else if (now - at > hours * 3600) printf "unknown the last preflight is %d h old\n", (now - at) / 3600
    else if (list(failed) != "") printf "fail %d %s\npassed %s\n", at, list(failed), list(passed)
    else if (list(broken) != "") printf "unknown not made for an error: %s\n", list(broken)
    else printf "pass %d\npassed %s\n", at, list(passed)
  }' <<<"$page"
exit 0
