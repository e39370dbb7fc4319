-- A point's key becomes one integer, rank * 2^31 + sequence: points then go to the end of a plain table
-- whose pages fill up (94 bytes a point with its index where a trial of the old form took 115).
-- SQLite could not cascade through a computed column without reading the whole table, so a trigger does.
-- What only matters beside a distribution (p99.9, effective sample count) moves there: a point row holds
-- estimate, interval, tail, n and flags, as it is kept for years.
CREATE TABLE point_next (
  id INTEGER PRIMARY KEY,        -- rank * 2^31 + sequence
  series INTEGER NOT NULL REFERENCES series (id),
  measured_at REAL NOT NULL,     -- by the node's clock
  median REAL NOT NULL,          -- in the series' unit, as all below
  median_low REAL,               -- 95 % interval; NULL when the samples cannot bound it
  median_high REAL,
  p99 REAL,
  sample_count REAL NOT NULL,
  flags INTEGER NOT NULL,        -- 1 converged, 2 synthetic, 4 verified, 8 throttled
  fact_set INTEGER REFERENCES fact_set (id),  -- NULL: nothing held for this point alone
  rank INTEGER GENERATED ALWAYS AS (id >> 31) VIRTUAL,
  sequence INTEGER GENERATED ALWAYS AS (id & 2147483647) VIRTUAL
) STRICT;
INSERT INTO point_next (id, series, measured_at, median, median_low, median_high, p99, sample_count,
  flags, fact_set)
  SELECT (rank << 31) | sequence, series, measured_at, median, median_low, median_high, p99,
    sample_count, flags, fact_set FROM point ORDER BY rank, sequence;

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
  SELECT (rank << 31) | sequence, min, max, mean, stddev, p25, p75, p90, point.p999,
    lag1_autocorrelation, point.effective_sample_count, warmup_count, measure_ns, stop_reason,
    histogram FROM distribution JOIN point USING (rank, sequence) ORDER BY rank, sequence;

CREATE TABLE raw_sample_next (   -- only where a suite asks for them
  point INTEGER PRIMARY KEY REFERENCES point (id) ON DELETE CASCADE,
  body BLOB NOT NULL             -- zstd of little-endian float64 in time order
) STRICT;
INSERT INTO raw_sample_next (point, body)
  SELECT (rank << 31) | sequence, body FROM raw_sample ORDER BY rank, sequence;

DROP TABLE raw_sample;
DROP TABLE distribution;
DROP TABLE point;
ALTER TABLE point_next RENAME TO point;
ALTER TABLE distribution_next RENAME TO distribution;
ALTER TABLE raw_sample_next RENAME TO raw_sample;
CREATE INDEX point_by_series ON point (series, measured_at);

CREATE TRIGGER rank_takes_its_points AFTER DELETE ON rank BEGIN
  DELETE FROM point WHERE id BETWEEN old.id << 31 AND (old.id << 31) + 2147483647;
END;
