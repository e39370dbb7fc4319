#!/usr/bin/env bash
# Writes versionN.db: a database as schema version N leaves it, with one row of each kind that every version
# has. Run once for a new version, before the next migration; written files are never changed:
#   controller/store/testdata/make.sh N
set -euo pipefail
version=$1
cd "$(dirname "$0")"
file="version$version.db"
[ ! -e "$file" ] || { echo "$file is there; written files are never changed" >&2; exit 2; }
sqlite3 "$file" 'PRAGMA page_size=512; PRAGMA auto_vacuum=INCREMENTAL; PRAGMA application_id=0x52474744;'
number=0
for migration in ../migrations/*.sql; do
  number=$((number + 1))
  [ "$number" -le "$version" ] || break
  sqlite3 -bail "$file" <"$migration"
  [ "$number" -ne 1 ] || sqlite3 -bail "$file" <<'SQL'
INSERT INTO node VALUES (1, 'id-1', 'n1', '', '', NULL, 1, 1);
INSERT INTO node_name VALUES (1, 'n1', 1);
INSERT INTO endpoint VALUES (4, 1, '0000:3b:00.0', 1, '', 'nic', 'active', 1);
INSERT INTO endpoint_attribute VALUES (4, 1, NULL, 'mlx5_0', '', '', '', '', '', 0, 0, 0);
INSERT INTO series VALUES (7, 'k', 1, 'latency_ns', 'half_rtt', 8, 0, '{}', '4', 'ns', 0);
INSERT INTO series_endpoint VALUES (7, 0, 4);
INSERT INTO run VALUES (1, 'r1', 's', '', 'cli', '', 'ended', 'passed', '', '["n1"]', 1, 1, 1);
INSERT INTO parameter_set VALUES (1, 0, '{}');
INSERT INTO task VALUES (1, 1, 't1', 0, 0, 'k', 1, '[]', 1, 1, 1, 'ended', 'passed', '', 1, 1);
INSERT INTO task_rank VALUES (1, 0, 1, 'n1', 4, 'mlx5_0:1');
INSERT INTO attempt VALUES (1, 1, 1, 'passed', '');
INSERT INTO rank (id, attempt, rank) VALUES (1, 1, 0);
INSERT INTO point VALUES (1, 1, 7, 1, 1500, 1490, 1510, 1900, 2500, 9, 800, 5, NULL);
INSERT INTO distribution VALUES (1, 1, 1400, 2600, 1550, 20, 1450, 1550, 1700, 0.1, 10, 5e6, 'converged', NULL);
INSERT INTO raw_sample VALUES (1, 1, x'00');
INSERT INTO event VALUES (1, 1, 'node_attached', 'id-1', '', 'n1 attached');
SQL
done
sqlite3 "$file" "PRAGMA user_version=$version; VACUUM;"
