-- A point takes 13 bytes less. Its key is rank * 2^20 + sequence; its time whole milliseconds, which is
-- what was ever shown of it; and the index by series holds the day, by which points since a time are
-- found, not the time: points of one day are few. A record's sequence is below 2^20 from here on.
CREATE TABLE sequence_bound (largest INTEGER CHECK (largest < 1048576)) STRICT;
INSERT INTO sequence_bound SELECT max(id & 2147483647) FROM point;  -- of others no key can be made
DROP TABLE sequence_bound;

DROP TRIGGER rank_takes_its_points;
CREATE TABLE point_next (
  id INTEGER PRIMARY KEY,        -- rank * 2^20 + sequence
  series INTEGER NOT NULL REFERENCES series (id),
  measured_ms INTEGER NOT NULL,  -- since 1970 (UTC), by the node's clock
  median REAL NOT NULL,          -- in the series' unit, as all below
  median_low REAL,               -- 95 % interval; NULL when the samples cannot bound it
  median_high REAL,
  p99 REAL,
  sample_count REAL NOT NULL,
  flags INTEGER NOT NULL,        -- 1 converged, 2 synthetic, 4 verified, 8 throttled
  fact_set INTEGER REFERENCES fact_set (id),  -- NULL: nothing held for this point alone
  rank INTEGER GENERATED ALWAYS AS (id >> 20) VIRTUAL,
  sequence INTEGER GENERATED ALWAYS AS (id & 1048575) VIRTUAL,
  measured_at REAL GENERATED ALWAYS AS (measured_ms / 1000.0) VIRTUAL  -- seconds
) STRICT;
INSERT INTO point_next (id, series, measured_ms, median, median_low, median_high, p99, sample_count,
  flags, fact_set)
  SELECT (id >> 31 << 20) | (id & 1048575), series, CAST(round(measured_at * 1000) AS INTEGER), median,
    median_low, median_high, p99, sample_count, flags, fact_set FROM point ORDER BY id;

CREATE TABLE distribution_next (
  point INTEGER PRIMARY KEY REFERENCES point (id) ON DELETE CASCADE,
  min REAL NOT NULL,
  max REAL NOT NULL,
  mean REAL NOT NULL,
  stddev REAL,
  p25 REAL,
  p75 REAL,
  p90 REAL,
  p999 REAL,
  lag1_autocorrelation REAL,
  effective_sample_count REAL,
  warmup_count REAL NOT NULL,
  measure_ns REAL NOT NULL,
  stop_reason TEXT NOT NULL,
  histogram BLOB                 -- zstd of a serialized railgauge.Histogram
) STRICT;
INSERT INTO distribution_next (point, min, max, mean, stddev, p25, p75, p90, p999,
  lag1_autocorrelation, effective_sample_count, warmup_count, measure_ns, stop_reason, histogram)
  SELECT (point >> 31 << 20) | (point & 1048575), min, max, mean, stddev, p25, p75, p90, p999,
    lag1_autocorrelation, effective_sample_count, warmup_count, measure_ns, stop_reason, histogram
    FROM distribution ORDER BY point;

CREATE TABLE raw_sample_next (   -- only where a suite asks for them
  point INTEGER PRIMARY KEY REFERENCES point (id) ON DELETE CASCADE,
  body BLOB NOT NULL             -- zstd of little-endian float64 in time order
) STRICT;
INSERT INTO raw_sample_next (point, body)
  SELECT (point >> 31 << 20) | (point & 1048575), body FROM raw_sample ORDER BY point;

DROP TABLE raw_sample;
DROP TABLE distribution;
DROP TABLE point;
ALTER TABLE point_next RENAME TO point;
ALTER TABLE distribution_next RENAME TO distribution;
ALTER TABLE raw_sample_next RENAME TO raw_sample;
CREATE INDEX point_by_series ON point (series, measured_ms / 86400000);

-- Most tasks passed: they are counted as the rest of their run.
DROP INDEX task_by_run_state;
CREATE INDEX task_not_passed ON task (run, state, outcome) WHERE NOT (state='ended' AND outcome='passed');

CREATE TRIGGER rank_takes_its_points AFTER DELETE ON rank BEGIN
  DELETE FROM point WHERE id BETWEEN old.id << 20 AND (old.id << 20) + 1048575;
END;
