-- Facts that only sentences held until version 9 become columns. The sentences stay as they are: people read them.

-- The run of which this one measures the rest; '' for a run that was planned as a whole.
ALTER TABLE run ADD COLUMN parent_run_id TEXT NOT NULL DEFAULT '';
-- "the rest of run ID", then the end of the text, a comma or a semicolon.
UPDATE run SET parent_run_id =
  substr(reason, 17, instr(replace(substr(reason, 17), ';', ',') || ',', ',') - 1)
  WHERE reason GLOB 'the rest of run *';

-- Who cancelled the run: a person, or the schedule whose newer run replaced it; '' for nobody.
ALTER TABLE run ADD COLUMN cancelled_by TEXT NOT NULL DEFAULT '';
UPDATE run SET cancelled_by = substr(reason, instr(reason, 'cancelled by ') + 13)
  WHERE reason GLOB 'cancelled by ?*' OR reason GLOB '*; cancelled by ?*';

-- The reason of the decision itself, without the text that later runs of the due time added.
ALTER TABLE schedule_due ADD COLUMN note TEXT NOT NULL DEFAULT '';
UPDATE schedule_due SET note = rtrim(rtrim(
  substr(reason, 1, instr(reason || 'the rest of run ', 'the rest of run ') - 1)), ';');

-- Counts of figures that a run measured twice with nothing changed in between.
CREATE TABLE repeat_count (
  run_id TEXT PRIMARY KEY,       -- no reference: it stays as long as events do
  at REAL NOT NULL,
  figures INTEGER NOT NULL,      -- that were measured twice, of series with a past
  apart INTEGER NOT NULL         -- of them by more than the bound and their noise
) STRICT, WITHOUT ROWID;
CREATE INDEX repeat_count_by_time ON repeat_count (at);
-- "3 of 120 figures that were measured twice differ ..."
INSERT OR IGNORE INTO repeat_count (run_id, at, figures, apart)
  SELECT run_id, at, CAST(substr(text, instr(text, ' of ') + 4) AS INTEGER), CAST(text AS INTEGER)
  FROM event WHERE kind='measured_twice' AND text GLOB '[0-9]* of [0-9]* figures*' ORDER BY id DESC;
