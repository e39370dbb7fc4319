#!/usr/bin/env bash
# Writes versionN.db: a database as schema version N leaves it, with a row in each of its tables. Add the rows of a new
# version's tables below. Run once for a new version, before the next migration. Written files are never changed.
#   controller/store/testdata/make.sh N
set -euo pipefail
version=$1
cd "$(dirname "$0")"
file="version$version.db"
[ ! -e "$file" ] || { echo "$file is there; written files are never changed" >&2; exit 2; }
sqlite3 "$file" 'PRAGMA page_size=512; PRAGMA auto_vacuum=INCREMENTAL; PRAGMA application_id=0x52474744;'
# The rows of the tables that a version adds, in that version's columns.
rows_of() {
  case $1 in
    1) cat <<'SQL'
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
INSERT INTO note VALUES (1, 0, 'info', 'said');
INSERT INTO orphan_record VALUES (1, 1, 'id-1', 'r9', 't1', 1, 0, 0, 'no such run or task was planned', x'00');
INSERT INTO event VALUES (1, 1, 'node_attached', 'id-1', '', 'n1 attached');
INSERT INTO fact_set VALUES (1, 0, '{"gpu_driver":"550"}');
SQL
      ;;
    4) cat <<'SQL'
INSERT INTO stack VALUES (1, 1, 1);
INSERT INTO epoch VALUES (1, 1, 1, 1, NULL, 'first_seen');
INSERT INTO preflight VALUES (1, 1, 1, 1, 'warn');
INSERT INTO preflight_check VALUES (1, 0, 'acs_on_path', 'mlx5_0', 'warn', 'seen', 'because', 'do');
INSERT INTO finding VALUES (1, 'f1', 'outlier', 'open', 'warning', 1, 1, 'n1/mlx5_0:1', 'slow', '{}', 1, 1);
INSERT INTO finding_series VALUES (1, 7, 1500, 1800);
INSERT INTO finding_step VALUES (1, 1, 1, 'me', 'opened', '');
INSERT INTO operator_note VALUES (1, 1, 'me', 'node', 'n1', 'moved');
INSERT INTO pair_matrix VALUES (1, 1, 0, 'k', 'latency_ns', 'half_rtt', 8, 'ns', 0, 1, x'00', x'00');
INSERT INTO pair_outlier VALUES (1, 0, 0, 1800, 1500);
INSERT INTO series_day VALUES (7, 1, 3, 1500, 1400, 1600);
SQL
      ;;
    5) echo "UPDATE node SET spool_through=17;" ;;
    6) echo "INSERT INTO schedule_due VALUES (1, 1, 1, 'skipped', '', 'busy');" ;;
    7) cat <<'SQL'
INSERT INTO upgrade VALUES (1, 'u1', 's', 'prepared', 'me', 1, 0, '', '', '', NULL, '');
INSERT INTO upgrade_node VALUES (1, 1, 'changed', 1, NULL);
INSERT INTO upgrade_run VALUES (1, 1, 'before');
INSERT INTO baseline VALUES (7, 'golden', 1500, 9, 1, 'me', '', 1);
SQL
      ;;
    9) cat <<'SQL'
UPDATE schedule SET started=3 WHERE name='nightly';
INSERT INTO run (id, run_id, suite, suite_text, trigger, requested_by, state, outcome, reason, nodes, created_at, started_at, ended_at)
  VALUES (2, 'r2', 's', '', 'cli', '', 'ended', 'failed', 'the rest of run r1', '["n1"]', 2, 2, 2);
INSERT INTO run (id, run_id, suite, suite_text, trigger, requested_by, state, outcome, reason, nodes, created_at, started_at, ended_at)
  VALUES (3, 'r3', 's', '', 'schedule', '', 'ended', 'failed', 'the rest of run r2, which ended; late', '["n1"]', 3, 3, 3);
INSERT INTO event VALUES (2, 3, 'measured_twice', '', 'r3', '3 of 120 figures that were measured twice differ by more than the bound and their noise');
SQL
      ;;
    10) cat <<'SQL'
UPDATE run SET cancelled_by='me' WHERE run_id='r3';
UPDATE schedule_due SET note='busy';
SQL
      ;;
    11) cat <<'SQL'
INSERT INTO audit VALUES (1, 1, 17, 'ann', 'operator', '192.0.2.1', 'Control.CancelRun', 'r1', 'ok', '', 0, 1);
SQL
      ;;
    12) cat <<'SQL'
UPDATE node SET certificate='n1';
INSERT INTO metric_list VALUES (1, '["latency_ns"]');
UPDATE task SET metric_list=1;
UPDATE attempt SET dispatched_at=1;
SQL
      ;;
    13) cat <<'SQL'
UPDATE point SET rate=1200, rate_low=1150, rate_high=1250, slot_p10=300, pause_share=0.25;
UPDATE distribution SET slot_p1=100, slot_ns=1e7, longest_pause_ns=2e7, p99_low=1800, p99_high=2000, p999_low=2400,
  p999_high=2500;
SQL
      ;;
    14) cat <<'SQL'
INSERT INTO part_levels VALUES (1, 1, 'k', 'latency_ns', 'half_rtt', 8, 1, x'00');
UPDATE run SET findings_new=1 WHERE run_id='r1';
SQL
      ;;
    15) cat <<'SQL'
INSERT INTO delivery VALUES (1, 'webhook', 'run-r1', 'ab', '{}', 'waiting', 1, 1, 2, 'HTTP status 500');
SQL
      ;;
    16) cat <<'SQL'
INSERT INTO node_label VALUES (1, 'rack', 'r1');
INSERT INTO site_label VALUES ('n1', 'pod', 'p1');
INSERT INTO node_group VALUES ('gold', 'n1');
INSERT INTO node_pause VALUES (1, 1, 1, 3, 'ann', 'DIMM', 2, 'ann');
INSERT INTO node_pause VALUES (2, 1, 2, 4, 'ann', 'mainboard', NULL, '');
SQL
      ;;
    17) cat <<'SQL'
INSERT INTO stage_time VALUES ('k on pairs', 1, 3, 12, 7);
SQL
      ;;
    18) cat <<'SQL'
INSERT INTO task_rest VALUES (3, 0, 'k', 'cancelled', 'stopped', 12);
SQL
      ;;
    19) cat <<'SQL'
INSERT INTO enrolment_token VALUES (1, '1a2b3c4d', '00', 'ab', 'n1', 2, 1, 0, 1, 'root', 3, 2, 'root');
INSERT INTO enrolment VALUES (1, 1, 'n1', 'cd', '192.0.2.1', 1);
INSERT INTO enrolment VALUES (2, NULL, 'n1', 'cd', '192.0.2.1', 2);
SQL
      ;;
    20) cat <<'SQL'
UPDATE mirror_state SET store_id='0123456789abcdef0123456789abcdef', is_on=1, arming=1, even_at=1;
INSERT INTO mirror_outbox VALUES (1, 0, 1, NULL);
INSERT INTO mirror_start VALUES (1, 'ab', NULL);
INSERT INTO certificate VALUES (1, 'r1', 1, 'sha256:ab', x'7b7d');
SQL
      ;;
    22) cat <<'SQL'
INSERT INTO point_tail SELECT min(id), 2100, 2200, NULL, NULL FROM point;
SQL
      ;;
  esac
}

number=0
for migration in ../migrations/*.sql; do
  number=$((number + 1))
  [ "$number" -le "$version" ] || break
  sqlite3 -bail "$file" <"$migration"
  rows_of "$number" | sqlite3 -bail "$file"
done
sqlite3 "$file" "PRAGMA user_version=$version; VACUUM;"
