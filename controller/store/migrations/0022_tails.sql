-- Figures of a point's distribution that came from the archive: those that verdicts are made of. The distribution itself
-- is with the controller that measured.
CREATE TABLE point_tail (
  point INTEGER PRIMARY KEY REFERENCES point (id) ON DELETE CASCADE,
  mean REAL,                     -- in the unit of the series, as the next three; NULL: it had none
  p90 REAL,
  p999 REAL,
  slot_p1 REAL
) STRICT;
