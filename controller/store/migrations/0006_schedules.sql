-- Suites that start by themselves. A due time is claimed by its row in schedule_due, written in the
-- transaction that creates its run, so that a restart in that second starts it once.
CREATE TABLE schedule (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  suite TEXT NOT NULL,               -- its name in the controller's folder
  node_set TEXT NOT NULL,            -- '' is all attached nodes
  exclusive INTEGER NOT NULL,        -- 0, 1: without kindness to neighbours
  cron TEXT NOT NULL,
  zone TEXT NOT NULL,
  jitter_seconds REAL NOT NULL,
  windows TEXT NOT NULL,
  blackouts TEXT NOT NULL,
  concurrency TEXT NOT NULL,
  catch_up_seconds REAL NOT NULL,
  paused INTEGER NOT NULL,           -- 0, 1
  created_at REAL NOT NULL,
  created_by TEXT NOT NULL,
  decided_until REAL NOT NULL        -- every due time up to this one is decided
) STRICT;

CREATE TABLE schedule_due (
  schedule INTEGER NOT NULL REFERENCES schedule(id) ON DELETE CASCADE,
  due_at REAL NOT NULL,
  decided_at REAL NOT NULL,
  result TEXT NOT NULL,              -- 'started', 'skipped', 'missed', 'by_hand'
  run_id TEXT NOT NULL,              -- of 'started' and 'by_hand'
  reason TEXT NOT NULL,
  PRIMARY KEY (schedule, due_at)
) STRICT, WITHOUT ROWID;

-- Shipped ones are paused until somebody enables them; removed ones do not come back.
INSERT INTO schedule (name, suite, node_set, exclusive, cron, zone, jitter_seconds, windows, blackouts,
  concurrency, catch_up_seconds, paused, created_at, created_by, decided_until) VALUES
  ('nightly', 'nightly', '', 0, '30 1 * * *', 'UTC', 900, '', '', 'skip', 0, 1, 0, 'shipped', 0),
  ('hourly-quick', 'quick', '', 0, '15 * * * *', 'UTC', 300, '', '', 'skip', 0, 1, 0, 'shipped', 0);
