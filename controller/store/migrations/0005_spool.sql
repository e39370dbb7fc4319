-- Up to which record of the node's spool all are stored, by the agent's own numbers. NULL: not told
-- yet. An agent that has acknowledged records beyond it is asked for them: a backup was restored.
ALTER TABLE node ADD COLUMN spool_through INTEGER;
