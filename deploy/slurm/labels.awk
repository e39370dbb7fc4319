#!/usr/bin/awk -f
# Makes labels of nodes from gres.conf, for `topology: {source: labels, file: ..., leaf: gpu}` of a site profile:
#   labels.awk /etc/slurm/gres.conf >/etc/railgauge/labels
# A line `NodeName=gpu[01-16] Name=gpu Type=h100 File=/dev/nvidia[0-7]` gives `gpu[01-16] gpu=h100 gpus=8`. Lines without
# nodes, and other resources than gpu, give none. (topology.conf needs no such step: `source: slurm` reads it.)
function count_of(text,    n, parts, range, i) {  # 8 for /dev/nvidia[0-7], 3 for [0,2-3]
  if (!match(text, /\[[0-9,-]+\]/)) return text == "" ? 0 : 1
  n = split(substr(text, RSTART + 1, RLENGTH - 2), parts, ",")
  for (i = 1; i <= n; ++i) total[i] = split(parts[i], range, "-") == 2 ? range[2] - range[1] + 1 : 1
  range[1] = 0
  for (i = 1; i <= n; ++i) range[1] += total[i]
  return range[1]
}
/^[ \t]*#/ { next }
{
  split("", value)
  for (i = 1; i <= NF; ++i)
    if (match($i, /^[A-Za-z]+=/)) value[tolower(substr($i, 1, RLENGTH - 1))] = substr($i, RLENGTH + 1)
  if (value["nodename"] == "" || value["name"] != "gpu") next
  if (value["type"] == "") value["type"] = "gpu"
  gpus = value["count"] != "" ? value["count"] : count_of(value["file"])
  key = value["nodename"]
  if (!(key in order)) { order[key] = ++nodes; name[nodes] = key }
  # A node may have a line a GPU, or a line a type.
  if (kind[key] == "") kind[key] = value["type"]
  else if (("," kind[key] ",") !~ ("," value["type"] ",")) kind[key] = kind[key] "," value["type"]
  sum[key] += gpus
}
END { for (i = 1; i <= nodes; ++i) print name[i], "gpu=" kind[name[i]], "gpus=" sum[name[i]] }
