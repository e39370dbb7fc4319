-- A rate is judged by all that moved over all time. Points of before this version, and other figures,
-- have their median alone; a kernel's revision keeps both kinds in series of their own.
ALTER TABLE point ADD COLUMN rate REAL;         -- NULL: no rate, or of before version 13; so are all below
ALTER TABLE point ADD COLUMN rate_low REAL;     -- 95 % interval of the rate; NULL where too few slots give none
ALTER TABLE point ADD COLUMN rate_high REAL;
ALTER TABLE point ADD COLUMN slot_p10 REAL;     -- of the rate in each slot; NULL below 44 slots
ALTER TABLE point ADD COLUMN pause_share REAL;  -- of all time, 0 to 1
ALTER TABLE point ADD COLUMN headline REAL GENERATED ALWAYS AS (coalesce(rate, median)) VIRTUAL;
ALTER TABLE distribution ADD COLUMN slot_p1 REAL;           -- NULL below 459 slots
ALTER TABLE distribution ADD COLUMN slot_ns REAL;
ALTER TABLE distribution ADD COLUMN longest_pause_ns REAL;  -- 0: none
-- 95 % intervals of the high percentiles, of any metric; NULL where the samples do not bound them.
ALTER TABLE distribution ADD COLUMN p99_low REAL;
ALTER TABLE distribution ADD COLUMN p99_high REAL;
ALTER TABLE distribution ADD COLUMN p999_low REAL;
ALTER TABLE distribution ADD COLUMN p999_high REAL;
