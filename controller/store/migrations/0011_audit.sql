-- Who changed what, and which calls were refused. Rows are only ever appended.
CREATE TABLE audit (
  id INTEGER PRIMARY KEY,
  at REAL NOT NULL,
  call INTEGER NOT NULL,         -- the same in the rows of one call: its begin and its outcome; 0 of others
  who TEXT NOT NULL,             -- user, common name or address; 'controller'
  role TEXT NOT NULL,
  address TEXT NOT NULL,
  rpc TEXT NOT NULL,             -- 'Control.StartRun'; 'retention' is an act of the controller itself
  subject TEXT NOT NULL,
  outcome TEXT NOT NULL,         -- 'begun', 'ok', or the name of the status code
  reason TEXT NOT NULL,
  refused INTEGER NOT NULL,      -- 0, 1: nothing was carried out
  count INTEGER NOT NULL         -- calls that the row is about
) STRICT;
CREATE INDEX audit_by_time ON audit (at);
CREATE INDEX audit_by_call ON audit (call) WHERE call<>0;
CREATE INDEX audit_refused ON audit (id) WHERE refused=1;

-- Other programs lack the function, so that they cannot even prepare a DELETE. The controller's
-- retention alone makes it 1 (queries/audit.h).
CREATE TRIGGER audit_is_never_changed BEFORE UPDATE ON audit
BEGIN SELECT RAISE(ABORT, 'rows of the audit trail are never changed'); END;
CREATE TRIGGER audit_is_never_deleted BEFORE DELETE ON audit
WHEN railgauge_prunes_audit() IS NOT 1
BEGIN SELECT RAISE(ABORT, 'rows of the audit trail are deleted by retention alone'); END;
-- INSERT OR REPLACE deletes without the trigger above.
CREATE TRIGGER audit_is_never_replaced BEFORE INSERT ON audit
WHEN EXISTS (SELECT 1 FROM audit WHERE id=NEW.id)
BEGIN SELECT RAISE(ABORT, 'rows of the audit trail are never replaced'); END;
