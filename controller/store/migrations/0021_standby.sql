-- Beside other controllers of a site: what this database is. deploy/docs/guide/standby.md has the terms.

CREATE TABLE standby_state (     -- one row
  id INTEGER PRIMARY KEY CHECK (id = 1),
  generation INTEGER NOT NULL,   -- the highest one that this database knows; 0: none
  copy_epoch INTEGER NOT NULL,   -- of the archive's copy that this is; 0: a database of its own
  position INTEGER NOT NULL,     -- changes of the archive up to this one are in the copy
  is_whole INTEGER NOT NULL      -- 0, 1: the first copy has ended
) STRICT;
INSERT INTO standby_state (id, generation, copy_epoch, position, is_whole) VALUES (1, 0, 0, 0, 0);
