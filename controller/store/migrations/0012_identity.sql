-- Who a node is and what its ranks may report, so that no peer speaks for another.

-- The node that the certificate of the agent speaks for; '' while it attached without a certificate.
ALTER TABLE node ADD COLUMN certificate TEXT NOT NULL DEFAULT '';

-- The metrics that a kernel declared when its tasks were planned.
CREATE TABLE metric_list (
  id INTEGER PRIMARY KEY,
  body TEXT NOT NULL UNIQUE      -- JSON array, sorted
) STRICT;
ALTER TABLE task ADD COLUMN metric_list INTEGER REFERENCES metric_list (id);  -- NULL: not known, any metric is taken

-- An attempt has a row from its dispatch on: records of other attempts are refused.
ALTER TABLE attempt ADD COLUMN dispatched_at REAL;  -- by the controller's clock; NULL: before version 12
