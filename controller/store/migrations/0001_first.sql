-- Times are REAL seconds since 1970 (UTC); columns end in their unit. Small integer keys everywhere;
-- what people and agents call things (run_id, task_id, node_id) stands once, in the table it names.

-- --- who and where -------------------------------------------------------------------------------

CREATE TABLE fact_set (
  id INTEGER PRIMARY KEY,
  hash INTEGER NOT NULL,       -- of body; the index holds it instead of the text
  body TEXT NOT NULL           -- JSON object, keys sorted
) STRICT;
CREATE INDEX fact_set_by_hash ON fact_set (hash);

CREATE TABLE parameter_set (
  id INTEGER PRIMARY KEY,
  hash INTEGER NOT NULL,
  body TEXT NOT NULL
) STRICT;
CREATE INDEX parameter_set_by_hash ON parameter_set (hash);

CREATE TABLE node (
  id INTEGER PRIMARY KEY,
  node_id TEXT NOT NULL UNIQUE,  -- the agent's own, kept in its state folder
  name TEXT NOT NULL,            -- the present one
  version TEXT NOT NULL,
  address TEXT NOT NULL,
  fact_set INTEGER REFERENCES fact_set (id),
  first_seen_at REAL NOT NULL,
  last_seen_at REAL NOT NULL
) STRICT;
CREATE INDEX node_by_name ON node (name);

CREATE TABLE node_name (         -- every name that a node ever had
  node INTEGER NOT NULL REFERENCES node (id),
  name TEXT NOT NULL,
  valid_from REAL NOT NULL,
  PRIMARY KEY (node, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX node_name_by_name ON node_name (name);

CREATE TABLE endpoint (
  id INTEGER PRIMARY KEY,
  node INTEGER NOT NULL REFERENCES node (id),
  slot TEXT NOT NULL,            -- PCI address; else "netdev:NAME", "device:NAME", or "host"
  port INTEGER NOT NULL,         -- 0 where there is none
  gpu_slot TEXT NOT NULL,        -- of the GPU whose memory a NIC port uses; '' without
  kind TEXT NOT NULL,            -- nic, gpu, host
  state TEXT NOT NULL,           -- the last one seen
  last_seen_at REAL NOT NULL,    -- equal to the node's: it was there at the last attach
  UNIQUE (node, slot, port, gpu_slot)
) STRICT;

CREATE TABLE endpoint_attribute (
  endpoint INTEGER NOT NULL REFERENCES endpoint (id),
  valid_from REAL NOT NULL,
  valid_to REAL,                 -- NULL: holds now
  device TEXT NOT NULL,
  netdev TEXT NOT NULL,
  guid TEXT NOT NULL,
  link_layer TEXT NOT NULL,
  driver TEXT NOT NULL,
  firmware TEXT NOT NULL,
  rate_bits_per_second REAL NOT NULL,
  active_mtu_bytes REAL NOT NULL,
  numa_node_plus_one INTEGER NOT NULL,
  PRIMARY KEY (endpoint, valid_from)
) STRICT, WITHOUT ROWID;

-- --- what is measured ----------------------------------------------------------------------------

CREATE TABLE series (
  id INTEGER PRIMARY KEY,
  kernel TEXT NOT NULL,
  revision INTEGER NOT NULL,
  metric TEXT NOT NULL,
  meaning TEXT NOT NULL,
  message_bytes REAL NOT NULL,
  rank INTEGER NOT NULL,         -- that reports
  parameters TEXT NOT NULL,      -- JSON object of those that are part of the identity
  endpoints TEXT NOT NULL,       -- endpoint ids by position, "3,7"
  unit TEXT NOT NULL,            -- attributes from here on, by the first point
  larger_is_better INTEGER NOT NULL,
  UNIQUE (kernel, metric, message_bytes, endpoints, revision, meaning, rank, parameters)
) STRICT;

CREATE TABLE series_endpoint (
  series INTEGER NOT NULL REFERENCES series (id),
  position INTEGER NOT NULL,
  endpoint INTEGER NOT NULL REFERENCES endpoint (id),
  PRIMARY KEY (series, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX series_endpoint_by_endpoint ON series_endpoint (endpoint);

-- --- runs ----------------------------------------------------------------------------------------

CREATE TABLE run (
  id INTEGER PRIMARY KEY,        -- grows: newest last
  run_id TEXT NOT NULL UNIQUE,
  suite TEXT NOT NULL,
  suite_text TEXT NOT NULL,
  trigger TEXT NOT NULL,
  requested_by TEXT NOT NULL,
  state TEXT NOT NULL,           -- planned, running, cancelling, ended
  outcome TEXT NOT NULL,         -- '' until ended
  reason TEXT NOT NULL,
  nodes TEXT NOT NULL,           -- JSON array of names in plan order
  created_at REAL NOT NULL,
  started_at REAL,
  ended_at REAL
) STRICT;
CREATE INDEX run_open ON run (id) WHERE state <> 'ended';

CREATE TABLE task (
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  task_id TEXT NOT NULL,
  stage INTEGER NOT NULL,
  round INTEGER NOT NULL,
  kernel TEXT NOT NULL,
  parameter_set INTEGER NOT NULL REFERENCES parameter_set (id),  -- as planned
  identity_parameters TEXT NOT NULL,  -- JSON array of names
  deadline_seconds REAL NOT NULL,
  expected_seconds REAL NOT NULL,
  expected_bytes REAL NOT NULL,
  state TEXT NOT NULL,           -- waiting, preparing, running, ended
  outcome TEXT NOT NULL,
  reason TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  counted_attempt INTEGER NOT NULL,  -- the last one with a final record; 0: none
  UNIQUE (run, task_id)
) STRICT;
CREATE INDEX task_by_run_state ON task (run, state, outcome);

CREATE TABLE task_rank (         -- the placement, as planned
  task INTEGER NOT NULL REFERENCES task (id) ON DELETE CASCADE,
  rank INTEGER NOT NULL,
  node INTEGER NOT NULL REFERENCES node (id),
  node_name TEXT NOT NULL,       -- at that time
  endpoint INTEGER REFERENCES endpoint (id),  -- NULL: the kernel chooses or needs none
  endpoint_text TEXT NOT NULL,
  PRIMARY KEY (task, rank)
) STRICT, WITHOUT ROWID;

CREATE TABLE attempt (
  id INTEGER PRIMARY KEY,
  task INTEGER NOT NULL REFERENCES task (id) ON DELETE CASCADE,
  attempt INTEGER NOT NULL,      -- from 1
  outcome TEXT NOT NULL,         -- the controller's word, else from the ranks; '' while open
  reason TEXT NOT NULL,
  UNIQUE (task, attempt)
) STRICT;

-- What one rank reported: its Started and Final records. The key of every record is
-- (attempt, rank, sequence); storing one twice is a no-op.
CREATE TABLE rank (
  id INTEGER PRIMARY KEY,        -- grows with arrival
  attempt INTEGER NOT NULL REFERENCES attempt (id) ON DELETE CASCADE,
  rank INTEGER NOT NULL,
  revision INTEGER,              -- NULL here and below: no Started record yet
  endpoint INTEGER REFERENCES endpoint (id),
  endpoint_text TEXT,
  parameter_set INTEGER REFERENCES parameter_set (id),
  fact_set INTEGER REFERENCES fact_set (id),
  started_at REAL,               -- by the node's clock
  ended_at REAL,                 -- NULL here and below: no Final record yet
  outcome TEXT,
  reason TEXT,
  start_ns REAL,                 -- phases that were not reached are NULL
  open_ns REAL,
  wait_ns REAL,
  exchange_ns REAL,
  measure_ns REAL,
  stop_ns REAL,
  cpu_seconds REAL,
  max_resident_bytes REAL,
  exit_signal INTEGER,
  stderr_tail TEXT,
  UNIQUE (attempt, rank)
) STRICT;

CREATE TABLE note (
  rank INTEGER NOT NULL REFERENCES rank (id) ON DELETE CASCADE,
  sequence INTEGER NOT NULL,
  severity TEXT NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (rank, sequence)
) STRICT, WITHOUT ROWID;

-- --- points: narrow, kept for years; their distributions are wide and pruned earlier ----------------

CREATE TABLE point (
  rank INTEGER NOT NULL REFERENCES rank (id) ON DELETE CASCADE,
  sequence INTEGER NOT NULL,
  series INTEGER NOT NULL REFERENCES series (id),
  measured_at REAL NOT NULL,     -- by the node's clock
  median REAL NOT NULL,          -- in the series' unit, as all below
  median_low REAL,               -- 95 % interval; NULL when the samples cannot bound it
  median_high REAL,
  p99 REAL,
  p999 REAL,
  sample_count REAL NOT NULL,
  effective_sample_count REAL,
  flags INTEGER NOT NULL,        -- 1 converged, 2 synthetic, 4 verified
  fact_set INTEGER REFERENCES fact_set (id),  -- NULL: nothing held for this point alone
  PRIMARY KEY (rank, sequence)
) STRICT, WITHOUT ROWID;
CREATE INDEX point_by_series ON point (series, measured_at);

CREATE TABLE distribution (
  rank INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  min REAL NOT NULL,
  max REAL NOT NULL,
  mean REAL NOT NULL,
  stddev REAL,
  p25 REAL,
  p75 REAL,
  p90 REAL,
  lag1_autocorrelation REAL,
  warmup_count REAL NOT NULL,
  measure_ns REAL NOT NULL,
  stop_reason TEXT NOT NULL,
  histogram BLOB,                -- zstd of a serialized railgauge.Histogram
  PRIMARY KEY (rank, sequence),
  FOREIGN KEY (rank, sequence) REFERENCES point (rank, sequence) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE raw_sample (        -- only where a suite asks for them
  rank INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  body BLOB NOT NULL,            -- zstd of little-endian float64 in time order
  PRIMARY KEY (rank, sequence),
  FOREIGN KEY (rank, sequence) REFERENCES point (rank, sequence) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- --- what happened ---------------------------------------------------------------------------------

CREATE TABLE event (
  id INTEGER PRIMARY KEY,
  at REAL NOT NULL,
  kind TEXT NOT NULL,
  node_id TEXT NOT NULL,         -- '' where it concerns none; no reference: it may be a stranger's
  run_id TEXT NOT NULL,
  text TEXT NOT NULL
) STRICT;

CREATE TABLE orphan_record (     -- acknowledged, yet fits no planned task: kept for a person to see
  id INTEGER PRIMARY KEY,
  at REAL NOT NULL,
  node_id TEXT NOT NULL,
  run_id TEXT NOT NULL,
  task_id TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  rank INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  reason TEXT NOT NULL,
  body BLOB NOT NULL,            -- the serialized railgauge.Record; empty when it is too long
  UNIQUE (run_id, task_id, attempt, rank, sequence, node_id)
) STRICT;
