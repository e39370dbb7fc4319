-- What the mirror to PostgreSQL has not taken yet. Triggers of the writer's connection fill the outbox while the
-- mirror is on (outbox/mirror_outbox.h), for points ingest/point_ranges.h; without a mirror it is empty.
CREATE TABLE mirror_outbox (
  id INTEGER PRIMARY KEY,        -- grows; the newest row stays, so that ids never begin anew
  source INTEGER NOT NULL,       -- number of the table in outbox/mirror_tables.cc
  key INTEGER NOT NULL,          -- of the row, or of the rows, that changed there
  last INTEGER                   -- of points: the last one of a stretch that begins with key; else NULL
) STRICT;

CREATE TABLE mirror_state (      -- one row
  id INTEGER PRIMARY KEY CHECK (id = 1),
  store_id TEXT NOT NULL,        -- of this database: random, 32 hexadecimal digits; '' before the first mirror
  is_on INTEGER NOT NULL,        -- 0, 1: changes are noted
  arming INTEGER NOT NULL,       -- raised whenever changes went unnoted: everything is then sent once more
  even_at REAL NOT NULL,         -- when the mirror last had all; 0: never
  is_pruning INTEGER NOT NULL    -- 0, 1: within a transaction of retention, whose deletes stay unnoted
) STRICT;
INSERT INTO mirror_state (id, store_id, is_on, arming, even_at, is_pruning) VALUES (1, '', 0, 0, 0, 0);

-- Starts with a mirror. An archive that knows a start, or a row of it, that this database does not know is ahead of it:
-- the database was restored, or is a copy.
CREATE TABLE mirror_start (
  id INTEGER PRIMARY KEY,
  token TEXT NOT NULL UNIQUE,    -- random
  last_id INTEGER                -- the newest row of the outbox when it ended; NULL: it is the present one
) STRICT;

CREATE TABLE certificate (       -- of a run or an upgrade, made while a mirror is on
  id INTEGER PRIMARY KEY,
  subject TEXT NOT NULL UNIQUE,  -- the id of the run or the upgrade
  made_at REAL NOT NULL,
  digest TEXT NOT NULL,          -- "sha256:" and that of its content, as the document has it
  body BLOB NOT NULL             -- the document
) STRICT;
