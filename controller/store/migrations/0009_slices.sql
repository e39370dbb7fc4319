-- Runs that the schedule has started: which slice the next one takes of a suite that measures a slice a run.
-- Of its older due times the rows are gone; where the count begins matters to nobody.
ALTER TABLE schedule ADD COLUMN started INTEGER NOT NULL DEFAULT 0;
UPDATE schedule SET started =
  (SELECT count(*) FROM schedule_due WHERE schedule=schedule.id AND result IN ('started', 'by_hand'));
