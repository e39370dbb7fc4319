-- Upgrades with what was measured before and after them, levels that people hold series to, and the
-- life of a finding in full.

CREATE TABLE upgrade (
  id INTEGER PRIMARY KEY,
  upgrade_id TEXT NOT NULL UNIQUE,
  suite TEXT NOT NULL,             -- its name in the controller's folder
  state TEXT NOT NULL,             -- prepared, measuring, judged
  requested_by TEXT NOT NULL,
  created_at REAL NOT NULL,
  before_is_history INTEGER NOT NULL,  -- 0, 1: earlier runs stand for a prepared before side
  verdict TEXT NOT NULL,           -- pass, regressed, inconclusive, invalid; '' not judged yet
  kind TEXT NOT NULL,              -- of a regression: performance, lost_function, corruption
  reason TEXT NOT NULL,
  judged_at REAL,
  report TEXT NOT NULL             -- JSON: all that the verdict rests on, as it was then
) STRICT;

CREATE TABLE upgrade_node (
  upgrade INTEGER NOT NULL REFERENCES upgrade (id) ON DELETE CASCADE,
  node INTEGER NOT NULL REFERENCES node (id),
  role TEXT NOT NULL,              -- changed, control
  stack_before INTEGER REFERENCES stack (id),  -- NULL: the node had none yet
  stack_after INTEGER REFERENCES stack (id),   -- NULL: not measured after yet
  PRIMARY KEY (upgrade, node)
) STRICT, WITHOUT ROWID;
CREATE INDEX upgrade_node_by_node ON upgrade_node (node);

CREATE TABLE upgrade_run (
  upgrade INTEGER NOT NULL REFERENCES upgrade (id) ON DELETE CASCADE,
  run INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  side TEXT NOT NULL,              -- before, after
  PRIMARY KEY (upgrade, run)
) STRICT, WITHOUT ROWID;
CREATE INDEX upgrade_run_by_run ON upgrade_run (run);

CREATE TABLE baseline (            -- a level of a series that a person has set
  series INTEGER NOT NULL REFERENCES series (id),
  kind TEXT NOT NULL,              -- golden: what it should be; accepted: what it may be
  level REAL NOT NULL,             -- in the series' unit
  points INTEGER NOT NULL,         -- that the level is the median of
  set_at REAL NOT NULL,
  who TEXT NOT NULL,
  note TEXT NOT NULL,
  finding INTEGER REFERENCES finding (id) ON DELETE SET NULL,  -- that was accepted with it
  PRIMARY KEY (series, kind)
) STRICT, WITHOUT ROWID;

-- States are now: new, confirmed, acknowledged, accepted, fixed, false, reopened.
ALTER TABLE finding ADD COLUMN upgrade INTEGER REFERENCES upgrade (id);
ALTER TABLE finding ADD COLUMN acknowledged_until REAL;  -- NULL: without end
ALTER TABLE finding ADD COLUMN worse REAL;               -- fraction of the level before; NULL: no figure
DROP INDEX finding_open;
UPDATE finding SET state='new' WHERE state='open';
UPDATE finding SET state='fixed' WHERE state='resolved';
CREATE INDEX finding_open ON finding (state, id) WHERE state NOT IN ('fixed', 'false');
CREATE INDEX finding_by_upgrade ON finding (upgrade) WHERE upgrade IS NOT NULL;
