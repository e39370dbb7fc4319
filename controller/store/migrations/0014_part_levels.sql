-- What a run says of the parts of the fabric: the levels that later runs are compared with, and how many
-- findings came out of it.
CREATE TABLE part_levels (
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  kernel TEXT NOT NULL,
  metric TEXT NOT NULL,
  meaning TEXT NOT NULL,
  message_bytes REAL NOT NULL,
  node_count INTEGER NOT NULL,   -- with figures
  body BLOB NOT NULL,            -- zstd of a PartLevels message (controller/findings/parts.proto)
  UNIQUE (run, kernel, metric, meaning, message_bytes)
) STRICT;
CREATE INDEX part_levels_by_series ON part_levels (kernel, metric, message_bytes, run);

ALTER TABLE run ADD COLUMN judged_at REAL;  -- NULL: its figures were not compared with the past yet
ALTER TABLE run ADD COLUMN findings_new INTEGER NOT NULL DEFAULT 0;        -- opened, or opened again
ALTER TABLE run ADD COLUMN findings_confirmed INTEGER NOT NULL DEFAULT 0;  -- confirmed, or worse since
-- Runs of earlier versions are judged; nobody waits for them.
UPDATE run SET judged_at=ended_at WHERE state='ended';
