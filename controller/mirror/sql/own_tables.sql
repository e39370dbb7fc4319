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
-- reaches: the newest row of the outbox when rows were last read for the archive. They are sent as they are then, so that
-- a database which ends before it lacks some of what is here.
ALTER TABLE railgauge.site ADD COLUMN IF NOT EXISTS reaches bigint NOT NULL DEFAULT 0;
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
ALTER TABLE railgauge.lease ADD COLUMN IF NOT EXISTS address text NOT NULL DEFAULT '';
ALTER TABLE railgauge.lease ADD COLUMN IF NOT EXISTS taken_at timestamptz;
-- Who may take the lease after its end: the holder has seen them.
ALTER TABLE railgauge.lease ADD COLUMN IF NOT EXISTS admitted text[] NOT NULL DEFAULT '{}';
-- For which its holder takes it, and the number of its last renewal. An end of 1970: its holder gave it back.
ALTER TABLE railgauge.lease ADD COLUMN IF NOT EXISTS seconds double precision NOT NULL DEFAULT 0;
ALTER TABLE railgauge.lease ADD COLUMN IF NOT EXISTS renewal bigint NOT NULL DEFAULT 0;
-- Controllers of a site with several.
CREATE TABLE IF NOT EXISTS railgauge.controller (
  site_name text NOT NULL,
  holder text NOT NULL,
  address text NOT NULL,
  role text NOT NULL,
  lag_seconds double precision NOT NULL,
  seen_at timestamptz NOT NULL,
  PRIMARY KEY (site_name, holder)
);
-- Makes the generation a part of the row's key: an UPDATE of it waits for FOR KEY SHARE, one of the other columns does not.
CREATE UNIQUE INDEX IF NOT EXISTS lease_generation ON railgauge.lease (site_name, generation);
-- Fails the transaction of a controller whose lease another one has taken. Nobody else takes it before the transaction's end;
-- its holder renews it meanwhile, however long the commit takes.
CREATE OR REPLACE FUNCTION railgauge.require_lease(wanted_site text, wanted_generation bigint) RETURNS void
LANGUAGE plpgsql AS $body$
BEGIN
  PERFORM 1 FROM railgauge.lease WHERE site_name=wanted_site AND generation=wanted_generation FOR KEY SHARE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'generation % has lost the lease of site %', wanted_generation, wanted_site USING ERRCODE='55000';
  END IF;
END
$body$;
-- Keys of rows that changed, in the order of their commits, for standbys; those of a day.
CREATE TABLE IF NOT EXISTS railgauge.change (
  site smallint NOT NULL,
  position bigint GENERATED ALWAYS AS IDENTITY,
  source smallint NOT NULL,
  key bigint NOT NULL,
  last bigint,
  at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (site, position)
);
-- copy_epoch: raised where changes went unnoted; changes_from: changes up to this one are gone.
ALTER TABLE railgauge.site ADD COLUMN IF NOT EXISTS has_changes boolean NOT NULL DEFAULT false;
ALTER TABLE railgauge.site ADD COLUMN IF NOT EXISTS copy_epoch bigint NOT NULL DEFAULT 0;
ALTER TABLE railgauge.site ADD COLUMN IF NOT EXISTS changes_from bigint NOT NULL DEFAULT 0;
-- Up to which record of its spool all records of a node are here.
CREATE TABLE IF NOT EXISTS railgauge.spool_mark (
  site smallint NOT NULL,
  node bigint NOT NULL,
  through bigint NOT NULL,
  PRIMARY KEY (site, node)
);
-- Content that rows refer to by its SHA-256, in parts of 8 MiB.
CREATE TABLE IF NOT EXISTS railgauge.blob (
  digest bytea NOT NULL,
  part integer NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (digest, part)
);
ALTER TABLE railgauge.blob ALTER COLUMN body SET STORAGE EXTERNAL;
-- When a writer last sent or claimed it: content without a row goes a day later.
ALTER TABLE railgauge.blob ADD COLUMN IF NOT EXISTS used_at timestamptz NOT NULL DEFAULT now();
