-- A task may measure several pairs ("gpu0>gpu1"): the pair is part of what a series is. SQLite cannot
-- change a UNIQUE constraint, so the table is made anew under its name; ids stay.
CREATE TABLE series_next (
  id INTEGER PRIMARY KEY,
  kernel TEXT NOT NULL,
  revision INTEGER NOT NULL,
  metric TEXT NOT NULL,
  meaning TEXT NOT NULL,
  message_bytes REAL NOT NULL,
  rank INTEGER NOT NULL,         -- that reports
  parameters TEXT NOT NULL,      -- JSON object of those that are part of the identity
  endpoints TEXT NOT NULL,       -- endpoint ids by position, "3,7"
  pair TEXT NOT NULL,            -- '' where the task's endpoints say it all
  unit TEXT NOT NULL,            -- attributes from here on, by the first point
  larger_is_better INTEGER NOT NULL,
  UNIQUE (kernel, metric, message_bytes, endpoints, revision, meaning, rank, parameters, pair)
) STRICT;
INSERT INTO series_next (id, kernel, revision, metric, meaning, message_bytes, rank, parameters,
  endpoints, pair, unit, larger_is_better)
  SELECT id, kernel, revision, metric, meaning, message_bytes, rank, parameters, endpoints, '', unit,
    larger_is_better FROM series;
DROP TABLE series;
ALTER TABLE series_next RENAME TO series;

ALTER TABLE endpoint_attribute ADD COLUMN model TEXT NOT NULL DEFAULT '';  -- of a GPU

-- Points have a new flag: 8 throttled.
