-- Tokens with which nodes get a certificate. The secret of one is nowhere: only its hash with a salt.
CREATE TABLE enrolment_token (
  id INTEGER PRIMARY KEY,
  token_id TEXT NOT NULL UNIQUE,  -- for people
  salt TEXT NOT NULL,
  hash TEXT NOT NULL,             -- HMAC-SHA256 of the secret, the salt as key
  nodes TEXT NOT NULL,            -- a node set; '' for any name
  most_uses INTEGER NOT NULL,
  uses INTEGER NOT NULL,
  replaces INTEGER NOT NULL,      -- 1: for names that have a valid certificate
  created_at REAL NOT NULL,
  created_by TEXT NOT NULL,
  expires_at REAL NOT NULL,
  revoked_at REAL,                -- NULL while it is not revoked
  revoked_by TEXT NOT NULL
) STRICT;

-- Certificates that nodes got: by a token, or renewed. A row is there before the certificate is.
CREATE TABLE enrolment (
  id INTEGER PRIMARY KEY,
  token INTEGER REFERENCES enrolment_token (id) ON DELETE CASCADE,  -- NULL: renewed
  name TEXT NOT NULL,
  key_sha256 TEXT NOT NULL,
  address TEXT NOT NULL,
  at REAL NOT NULL
) STRICT;
CREATE UNIQUE INDEX enrolment_use ON enrolment (token, name, key_sha256) WHERE token IS NOT NULL;
