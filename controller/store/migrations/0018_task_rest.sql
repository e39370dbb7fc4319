-- The tasks of a run that have no row: their round has not begun, or never will. A row for each stage and end.
CREATE TABLE task_rest (
  run INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  stage INTEGER NOT NULL,
  kernel TEXT NOT NULL,
  outcome TEXT NOT NULL,         -- '': the round may still begin; else 'waived', 'cancelled'
  reason TEXT NOT NULL,
  tasks INTEGER NOT NULL,
  PRIMARY KEY (run, stage, outcome, reason)
) STRICT, WITHOUT ROWID;
