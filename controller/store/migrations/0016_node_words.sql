-- People's words about nodes: labels, groups and pauses.
-- Labels of the agent's settings.
CREATE TABLE node_label (
  node INTEGER NOT NULL REFERENCES node (id),
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (node, key)
) STRICT, WITHOUT ROWID;

-- Labels of the site profile, by the node's name; they win over the agent's.
CREATE TABLE site_label (
  name TEXT NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (name, key)
) STRICT, WITHOUT ROWID;

-- Groups of the site profile.
CREATE TABLE node_group (
  name TEXT PRIMARY KEY,
  nodes TEXT NOT NULL            -- a node set
) STRICT, WITHOUT ROWID;

-- Maintenance. Rows stay: the judge leaves out what was measured meanwhile.
CREATE TABLE node_pause (
  id INTEGER PRIMARY KEY,
  node INTEGER NOT NULL REFERENCES node (id),
  since REAL NOT NULL,
  until REAL NOT NULL,           -- as it was asked for
  who TEXT NOT NULL,
  reason TEXT NOT NULL,
  ended_at REAL,                 -- NULL while the node is paused
  ended_by TEXT NOT NULL         -- who resumed it or paused it anew; '' while it is paused, and at its end
) STRICT;
CREATE UNIQUE INDEX node_pause_now ON node_pause (node) WHERE ended_at IS NULL;
CREATE INDEX node_pause_by_time ON node_pause (since);
