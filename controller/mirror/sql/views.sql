-- Names in the plural are views, each with a column "synthetic", for people and boards: a site's name instead of its number, and what people call
-- nodes, runs and endpoints. deploy/docs/guide/archive.md has their columns.
CREATE OR REPLACE VIEW railgauge.endpoints AS
SELECT e.site AS site_number, s.name AS site, e.id AS endpoint_id, n.name AS node, e.kind, e.slot, e.port,
  e.rail, e.state,
  n.name || '/' || CASE WHEN coalesce(a.device, '') <> '' THEN a.device ELSE e.slot END
    || CASE WHEN e.port > 0 THEN ':' || e.port ELSE '' END
    || CASE WHEN e.gpu_slot <> '' THEN '+' || e.gpu_slot ELSE '' END AS endpoint,
  s.is_synthetic AS synthetic
FROM railgauge.endpoint e
JOIN railgauge.site s ON s.site = e.site
JOIN railgauge.node n ON n.site = e.site AND n.id = e.node
LEFT JOIN railgauge.endpoint_attribute a
  ON a.site = e.site AND a.endpoint = e.id AND a.valid_to IS NULL;

CREATE OR REPLACE VIEW railgauge.all_series AS
SELECT r.site AS site_number, s.name AS site, r.id AS series_id, r.kernel, r.revision, r.metric, r.meaning, r.unit,
  r.larger_is_better = 1 AS larger_is_better, r.message_bytes, r.rank,
  (SELECT string_agg(e.endpoint, ' ' ORDER BY p.position) FROM railgauge.series_endpoint p
   JOIN railgauge.endpoints e ON e.site_number = p.site AND e.endpoint_id = p.endpoint
   WHERE p.site = r.site AND p.series = r.id) AS endpoints,
  r.pair, r.parameters, s.is_synthetic AS synthetic
FROM railgauge.series r
JOIN railgauge.site s ON s.site = r.site;

CREATE OR REPLACE VIEW railgauge.points AS
SELECT p.site AS site_number, s.name AS site, p.series AS series_id, p.measured_at, r.kernel, r.metric, r.meaning,
  r.message_bytes, r.unit, coalesce(p.rate, p.median) AS headline, p.median, p.median_low, p.median_high,
  p.p99, p.rate_low, p.rate_high, p.slot_p10, p.pause_share, p.sample_count,
  p.flags & 1 <> 0 AS converged, p.flags & 2 <> 0 AS synthetic, p.flags & 4 <> 0 AS verified,
  p.flags & 8 <> 0 AS throttled, p.id >> 20 AS rank_id, p.id & 1048575 AS sequence,
  p.mean, p.p90, p.p999, p.slot_p1
FROM railgauge.point p
JOIN railgauge.series r ON r.site = p.site AND r.id = p.series
JOIN railgauge.site s ON s.site = p.site;

CREATE OR REPLACE VIEW railgauge.runs AS
SELECT run.site AS site_number, s.name AS site, run.id AS run_number, run.run_id, run.suite, run.trigger, run.requested_by,
  run.state, run.outcome, run.reason, run.created_at, run.started_at, run.ended_at, run.judged_at,
  run.findings_new, run.findings_confirmed, run.parent_run_id, s.is_synthetic AS synthetic
FROM railgauge.run
JOIN railgauge.site s ON s.site = run.site;

CREATE OR REPLACE VIEW railgauge.run_tasks AS
SELECT s.name AS site, run.run_id, run.created_at, task.kernel, task.state, task.outcome, count(*) AS tasks,
  bool_or(s.is_synthetic) AS synthetic
FROM railgauge.run
JOIN railgauge.site s ON s.site = run.site
JOIN railgauge.task ON task.site = run.site AND task.run = run.id
GROUP BY s.name, run.run_id, run.created_at, task.kernel, task.state, task.outcome;

CREATE OR REPLACE VIEW railgauge.findings AS
SELECT s.name AS site, f.finding_id, f.kind, f.state, f.severity, f.suspect, f.summary, f.worse,
  n.name AS node, run.run_id, f.opened_at, f.changed_at, f.acknowledged_until, s.is_synthetic AS synthetic
FROM railgauge.finding f
JOIN railgauge.site s ON s.site = f.site
LEFT JOIN railgauge.node n ON n.site = f.site AND n.id = f.node
LEFT JOIN railgauge.run ON run.site = f.site AND run.id = f.run;

CREATE OR REPLACE VIEW railgauge.events AS
SELECT s.name AS site, e.at, e.kind, coalesce(n.name, e.node_id) AS node, e.run_id, e.text,
  s.is_synthetic AS synthetic
FROM railgauge.event e
JOIN railgauge.site s ON s.site = e.site
LEFT JOIN railgauge.node n ON n.site = e.site AND n.node_id = e.node_id;

CREATE OR REPLACE VIEW railgauge.verdicts AS
SELECT s.name AS site, u.upgrade_id, u.suite, u.state, u.verdict, u.kind, u.reason, u.requested_by, u.created_at,
  u.judged_at, s.is_synthetic AS synthetic
FROM railgauge.upgrade u
JOIN railgauge.site s ON s.site = u.site;

CREATE OR REPLACE VIEW railgauge.nodes AS
SELECT s.name AS site, n.node_id, n.name AS node, n.version, n.first_seen_at,
  e.valid_from AS stack_since, v.body AS versions, w.body AS settings, s.is_synthetic AS synthetic
FROM railgauge.node n
JOIN railgauge.site s ON s.site = n.site
LEFT JOIN railgauge.epoch e ON e.site = n.site AND e.node = n.id AND e.valid_to IS NULL
LEFT JOIN railgauge.stack k ON k.site = e.site AND k.id = e.stack
LEFT JOIN railgauge.fact_set v ON v.site = k.site AND v.id = k.versions
LEFT JOIN railgauge.fact_set w ON w.site = k.site AND w.id = k.settings;

CREATE OR REPLACE VIEW railgauge.matrices AS
SELECT m.site AS site_number, s.name AS site, run.run_id, run.created_at, m.id AS matrix_id, m.rail, m.kernel, m.metric,
  m.meaning, m.message_bytes, m.unit, m.larger_is_better = 1 AS larger_is_better, m.endpoint_count,
  m.endpoints_digest, m.body_digest, s.is_synthetic AS synthetic
FROM railgauge.pair_matrix m
JOIN railgauge.run ON run.site = m.site AND run.id = m.run
JOIN railgauge.site s ON s.site = m.site;

CREATE OR REPLACE VIEW railgauge.certificates AS
SELECT s.name AS site, c.subject, c.made_at, c.digest, c.body_digest,
  (SELECT convert_from(string_agg(b.body, ''::bytea ORDER BY b.part), 'UTF8') FROM railgauge.blob b
   WHERE b.digest = c.body_digest) AS document, s.is_synthetic AS synthetic
FROM railgauge.certificate c
JOIN railgauge.site s ON s.site = c.site;

CREATE OR REPLACE VIEW railgauge.sites AS
SELECT s.name AS site, s.is_synthetic AS synthetic, s.even_at, s.merged_at, s.waiting,
  extract(epoch FROM now() - coalesce(s.even_at, s.merged_at))::double precision AS seconds_since_even,
  (SELECT count(*) FROM railgauge.node n WHERE n.site = s.site) AS nodes,
  (SELECT max(created_at) FROM railgauge.run r WHERE r.site = s.site) AS last_run_at
FROM railgauge.site s;

-- The points of one run: by the blocks of its ids, in the months from its start on, by the clocks of its nodes too.
CREATE OR REPLACE FUNCTION railgauge.run_results(of_site smallint, of_run bigint)
RETURNS TABLE (task_id text, attempt bigint, kernel text, rank bigint, metric text, meaning text,
  message_bytes double precision, unit text, headline double precision, median_low double precision,
  median_high double precision, p99 double precision, measured_at timestamptz, outcome text, endpoints text,
  counts boolean, series_id integer, synthetic boolean)
LANGUAGE plpgsql STABLE AS $$
DECLARE
  lo bigint;
  hi bigint;
  since timestamptz;
  until timestamptz;
BEGIN
  SELECT min(r.id) << 20, (max(r.id) << 20) + 1048575, min(r.started_at), max(r.ended_at)
  INTO lo, hi, since, until
  FROM railgauge.task t
  JOIN railgauge.attempt a ON a.site = t.site AND a.task = t.id
  JOIN railgauge.rank r ON r.site = a.site AND r.attempt = a.id
  WHERE t.site = of_site AND t.run = of_run;
  SELECT least(since, n.created_at) - interval '2 days', greatest(until, coalesce(n.ended_at, now())) + interval '2 days'
  INTO since, until
  FROM railgauge.run n WHERE n.site = of_site AND n.id = of_run;
  RETURN QUERY
  SELECT t.task_id, a.attempt, t.kernel, r.rank, s.metric, s.meaning, s.message_bytes, s.unit,
    coalesce(p.rate, p.median), coalesce(p.rate_low, p.median_low), coalesce(p.rate_high, p.median_high), p.p99,
    p.measured_at, t.outcome,
    (SELECT string_agg(k.node_name || CASE WHEN k.endpoint_text <> '' THEN '/' || k.endpoint_text ELSE '' END, ' '
       ORDER BY k.rank) FROM railgauge.task_rank k WHERE k.site = t.site AND k.task = t.id),
    a.attempt = t.counted_attempt, p.series, p.flags & 2 <> 0
  FROM railgauge.point p
  JOIN railgauge.rank r ON r.site = p.site AND r.id = p.id >> 20
  JOIN railgauge.attempt a ON a.site = r.site AND a.id = r.attempt
  JOIN railgauge.task t ON t.site = a.site AND t.id = a.task AND t.run = of_run
  JOIN railgauge.series s ON s.site = p.site AND s.id = p.series
  WHERE p.site = of_site AND p.id BETWEEN lo AND hi AND p.measured_at BETWEEN since AND until;
END
$$;
