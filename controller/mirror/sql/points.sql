-- A point's key begins with its series, so that one index finds a series and refuses a repeat. The rows of a run are
-- found by the blocks that hold its ids. A partition a month; point_other has the points of clocks that are far off.
CREATE TABLE IF NOT EXISTS railgauge.point (
  id bigint NOT NULL,
  measured_at timestamptz NOT NULL,
  median double precision,
  median_low double precision,
  median_high double precision,
  p99 double precision,
  sample_count double precision,
  series integer NOT NULL,
  site smallint NOT NULL,
  flags smallint,
  fact_set integer,
  rate double precision,
  rate_low double precision,
  rate_high double precision,
  slot_p10 double precision,
  pause_share double precision,
  mean double precision,
  p90 double precision,
  p999 double precision,
  slot_p1 double precision,
  PRIMARY KEY (site, series, measured_at, id)
) PARTITION BY RANGE (measured_at);
-- Figures of the distribution, for verdicts after a takeover; points that came before version 3 have none.
ALTER TABLE railgauge.point ADD COLUMN IF NOT EXISTS mean double precision;
ALTER TABLE railgauge.point ADD COLUMN IF NOT EXISTS p90 double precision;
ALTER TABLE railgauge.point ADD COLUMN IF NOT EXISTS p999 double precision;
ALTER TABLE railgauge.point ADD COLUMN IF NOT EXISTS slot_p1 double precision;
CREATE INDEX IF NOT EXISTS point_by_id ON railgauge.point
  USING brin (id int8_minmax_multi_ops) WITH (pages_per_range=32, autosummarize=on);
CREATE TABLE IF NOT EXISTS railgauge.point_other PARTITION OF railgauge.point DEFAULT;
