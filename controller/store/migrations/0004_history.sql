-- What is known of nodes over time, and what people and the analysis say about what was measured.

-- --- stacks and epochs -----------------------------------------------------------------------------

CREATE TABLE stack (             -- what an upgrade changes, interned in its two parts
  id INTEGER PRIMARY KEY,
  versions INTEGER NOT NULL REFERENCES fact_set (id),
  settings INTEGER NOT NULL REFERENCES fact_set (id),
  UNIQUE (versions, settings)
) STRICT;

CREATE TABLE epoch (             -- a stretch of time in which a node's stack does not change
  id INTEGER PRIMARY KEY,
  node INTEGER NOT NULL REFERENCES node (id),
  stack INTEGER NOT NULL REFERENCES stack (id),
  valid_from REAL NOT NULL,
  valid_to REAL,                 -- NULL: holds now
  cause TEXT NOT NULL,           -- first_seen, stack_changed, hardware_replaced
  UNIQUE (node, valid_from)
) STRICT;
CREATE UNIQUE INDEX epoch_present ON epoch (node) WHERE valid_to IS NULL;

CREATE INDEX event_by_node ON event (node_id, id);
CREATE INDEX event_by_run ON event (run_id, id);
CREATE INDEX run_by_time ON run (created_at);

-- --- preflight -------------------------------------------------------------------------------------

CREATE TABLE preflight (         -- one pass of the checks over one node
  id INTEGER PRIMARY KEY,
  node INTEGER NOT NULL REFERENCES node (id),
  run INTEGER REFERENCES run (id) ON DELETE SET NULL,  -- NULL: asked for by itself
  at REAL NOT NULL,
  state TEXT NOT NULL,           -- the worst of its checks
  UNIQUE (node, at)
) STRICT;
CREATE INDEX preflight_by_run ON preflight (run) WHERE run IS NOT NULL;

CREATE TABLE preflight_check (
  preflight INTEGER NOT NULL REFERENCES preflight (id) ON DELETE CASCADE,
  number INTEGER NOT NULL,       -- in the order that the node told them
  check_id TEXT NOT NULL,        -- "acs_on_path"
  subject TEXT NOT NULL,         -- the endpoint or pair it is about; '' the node
  state TEXT NOT NULL,           -- pass, warn, fail, error, waived, unknown
  observed TEXT NOT NULL,
  why TEXT NOT NULL,
  remedy TEXT NOT NULL,
  PRIMARY KEY (preflight, number)
) STRICT, WITHOUT ROWID;

-- --- findings --------------------------------------------------------------------------------------

CREATE TABLE finding (           -- a change or fault that the analysis reports
  id INTEGER PRIMARY KEY,
  finding_id TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,            -- "regression", "outlier", "lost_function", "corruption", ...
  state TEXT NOT NULL,           -- open, acknowledged, accepted, resolved
  severity TEXT NOT NULL,
  run INTEGER REFERENCES run (id) ON DELETE SET NULL,
  node INTEGER REFERENCES node (id),
  suspect TEXT NOT NULL,         -- "gpu013/mlx5_2:1", "linux_kernel 6.1 -> 6.5"; '' unknown
  summary TEXT NOT NULL,         -- one line
  evidence TEXT NOT NULL,        -- JSON
  opened_at REAL NOT NULL,
  changed_at REAL NOT NULL
) STRICT;
CREATE INDEX finding_open ON finding (state, id) WHERE state <> 'resolved';
CREATE INDEX finding_by_run ON finding (run) WHERE run IS NOT NULL;

CREATE TABLE finding_series (    -- the series that moved, in their own units
  finding INTEGER NOT NULL REFERENCES finding (id) ON DELETE CASCADE,
  series INTEGER NOT NULL REFERENCES series (id),
  before REAL,
  after REAL,
  PRIMARY KEY (finding, series)
) STRICT, WITHOUT ROWID;
CREATE INDEX finding_series_by_series ON finding_series (series);

CREATE TABLE finding_step (      -- acknowledgements and all else that was done about it
  finding INTEGER NOT NULL REFERENCES finding (id) ON DELETE CASCADE,
  number INTEGER NOT NULL,       -- from 1
  at REAL NOT NULL,
  who TEXT NOT NULL,
  action TEXT NOT NULL,          -- opened, ack, accept, resolve, reopen, comment
  text TEXT NOT NULL,
  PRIMARY KEY (finding, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE operator_note (     -- what a person wants the others to know
  id INTEGER PRIMARY KEY,
  at REAL NOT NULL,
  who TEXT NOT NULL,
  subject_kind TEXT NOT NULL,    -- node, run, series, fabric
  subject TEXT NOT NULL,         -- its name or id; '' for the fabric
  text TEXT NOT NULL
) STRICT;
CREATE INDEX operator_note_by_subject ON operator_note (subject_kind, subject);

-- --- all pairs -------------------------------------------------------------------------------------

CREATE TABLE pair_matrix (
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  rail INTEGER NOT NULL,         -- -1: across rails
  kernel TEXT NOT NULL,
  metric TEXT NOT NULL,
  meaning TEXT NOT NULL,
  message_bytes REAL NOT NULL,
  unit TEXT NOT NULL,
  larger_is_better INTEGER NOT NULL,
  endpoint_count INTEGER NOT NULL,
  endpoints BLOB NOT NULL,       -- zstd of their texts, one a line, in the order of rows and columns
  body BLOB NOT NULL,            -- zstd of little-endian float32, from-major; NaN: not measured
  UNIQUE (run, rail, kernel, metric, meaning, message_bytes)
) STRICT;

CREATE TABLE pair_outlier (
  matrix INTEGER NOT NULL REFERENCES pair_matrix (id) ON DELETE CASCADE,
  from_index INTEGER NOT NULL,   -- row and column of the matrix
  to_index INTEGER NOT NULL,
  value REAL,                    -- NULL: not measured, though planned
  expected REAL,
  PRIMARY KEY (matrix, from_index, to_index)
) STRICT, WITHOUT ROWID;

-- --- what stays when points go -----------------------------------------------------------------------

CREATE TABLE series_day (        -- roll-up of points that retention takes away; UTC days
  series INTEGER NOT NULL REFERENCES series (id),
  day INTEGER NOT NULL,          -- days since 1970
  point_count INTEGER NOT NULL,
  median REAL NOT NULL,          -- the mean of the points' medians
  lowest REAL NOT NULL,          -- of the points' medians
  highest REAL NOT NULL,
  PRIMARY KEY (series, day)
) STRICT, WITHOUT ROWID;

-- --- rails -------------------------------------------------------------------------------------------

-- The position among the node's NIC ports by PCI address; NULL: no NIC, or not seen since.
ALTER TABLE endpoint ADD COLUMN rail INTEGER;

-- --- retention ---------------------------------------------------------------------------------------

-- What pruning has taken of a run: 0 nothing, 1 raw samples, 2 distributions, 3 points and tasks.
ALTER TABLE run ADD COLUMN pruned INTEGER NOT NULL DEFAULT 0;
CREATE INDEX run_to_prune ON run (pruned, created_at);
