-- The time that the rounds of a stage took, from which later plans are estimated.
CREATE TABLE stage_time (
  key TEXT NOT NULL,             -- kernel, placement and parameters that are not at their defaults
  run INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  rounds INTEGER NOT NULL,
  longest_seconds REAL NOT NULL, -- by the kernel's own caps
  seconds REAL NOT NULL,
  PRIMARY KEY (key, run)
) STRICT, WITHOUT ROWID;
CREATE INDEX stage_time_by_run ON stage_time (run);
