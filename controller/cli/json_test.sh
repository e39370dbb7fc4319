#!/usr/bin/env bash
# Reads every golden JSON document with jq: one document each, schema_version first, keys in snake_case,
# each ndjson line a document of its own. A missing value is null: no time and no outcome is "".
set -euo pipefail
cd "$(dirname "$0")/testdata"
command -v jq >/dev/null || { echo "waived: jq is not installed"; exit 77; }

fail() { echo "$1" >&2; exit 1; }

# The conditions on one document or one line.
known='[.. | objects | to_entries[] |
        if .key | endswith("_at") then .value == null or (.value | type == "string" and endswith("Z"))
        elif .key == "outcome" or .key == "reason" then .value != ""
        else true end] | all'

# Names that a node gives to its devices, modules and variables ("mlx5_0:1.rate", "nccl_conf.NCCL_IB_TC") follow a dot.
own_name='length > 1 and (.[-2] | IN("facts", "stack_versions", "stack_settings")) and (.[-1] | contains("."))'

count=0
for file in *.json; do
  jq -es 'length == 1 and (.[0] | keys_unsorted[0] == "schema_version" and .schema_version == 1) and
          ([paths | select(.[-1] | type == "string") | select(('"$own_name"') | not) | .[-1] |
            test("^[a-z][a-z0-9_]*$")] | all)' "$file" >/dev/null ||
    fail "$file: not one document with schema_version 1 first and keys in snake_case"
  jq -e "$known" "$file" >/dev/null || fail "$file: a time is not RFC 3339, or a missing word is not null"
  count=$((count + 1))
done
for file in *.ndjson; do
  # -R gives lines, so that a document over two lines would not pass.
  jq -eRn '[inputs | fromjson | type == "object"] | length > 0 and all' "$file" >/dev/null ||
    fail "$file: a line is no JSON object"
  jq -es "all($known)" "$file" >/dev/null || fail "$file: a time is not RFC 3339, or a missing word is not null"
  count=$((count + 1))
done
[ "$count" -gt 20 ] || fail "only $count golden files were found"
echo "$count files read by jq"
