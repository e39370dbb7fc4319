-- Reports that are sent to people, so that those that wait survive a restart.
CREATE TABLE delivery (
  id INTEGER PRIMARY KEY,
  target TEXT NOT NULL,          -- 'webhook', 'chat', 'mail'
  delivery_id TEXT NOT NULL,     -- of the report; a report goes to each target once
  digest TEXT NOT NULL,          -- SHA-256 of the body, in hexadecimal digits
  body TEXT NOT NULL,            -- what is sent; '' once nothing is to be sent any more
  state TEXT NOT NULL,           -- 'waiting', 'delivered', 'failed', 'refused', 'dropped'
  attempts INTEGER NOT NULL,     -- that were made
  created_at REAL NOT NULL,
  next_at REAL NOT NULL,         -- of the next attempt, or when it ended
  cause TEXT NOT NULL,           -- why the last attempt failed; '' for none
  UNIQUE (target, delivery_id)
) STRICT;
CREATE INDEX delivery_waiting ON delivery (target, next_at) WHERE state='waiting';
