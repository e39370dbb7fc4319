-- Tables that the mirror keeps for itself; archive_schema.cc makes the copies of the store's.
CREATE SCHEMA IF NOT EXISTS railgauge;
CREATE TABLE IF NOT EXISTS railgauge.schema_version (
  version bigint NOT NULL,
  made_at timestamptz NOT NULL DEFAULT now()
);
-- A controller that writes here. generation: raised by each claim; a merge of an older one is refused.
CREATE TABLE IF NOT EXISTS railgauge.site (
  site smallint PRIMARY KEY,
  name text NOT NULL UNIQUE,
  store_id text NOT NULL,
  start text NOT NULL,
  schema_version bigint NOT NULL,
  is_synthetic boolean NOT NULL,
  generation bigint NOT NULL,
  arming bigint NOT NULL,
  outbox_through bigint NOT NULL,
  waiting bigint NOT NULL DEFAULT 0,
  even_at timestamptz,
  merged_at timestamptz,
  keep_days double precision NOT NULL DEFAULT 0
);
-- The copy of what a store had before its mirror was on, table by table.
CREATE TABLE IF NOT EXISTS railgauge.walk (
  site smallint NOT NULL,
  name text NOT NULL,
  through bigint NOT NULL,
  is_done boolean NOT NULL,
  PRIMARY KEY (site, name)
);
-- Which controller of a site is active, and until when.
CREATE TABLE IF NOT EXISTS railgauge.lease (
  site_name text PRIMARY KEY,
  holder text NOT NULL,
  generation bigint NOT NULL,
  expires_at timestamptz NOT NULL
);
-- Content that rows refer to by its SHA-256, in parts of 8 MiB.
CREATE TABLE IF NOT EXISTS railgauge.blob (
  digest bytea NOT NULL,
  part integer NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (digest, part)
);
ALTER TABLE railgauge.blob ALTER COLUMN body SET STORAGE EXTERNAL;
