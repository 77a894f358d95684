-- purpose:    the shop's worlds: what differs from the files in each, what was applied under which key, and the ledger
-- parameters: none; safe to run at every start
-- returns:    nothing
-- index used: none; every table is found by its primary key or by UNIQUE (world, key)

-- One row: which files the worlds are views of.
CREATE TABLE IF NOT EXISTS files (
  id          INTEGER PRIMARY KEY CHECK (id = 1),
  fingerprint TEXT NOT NULL
);

-- Copy-on-write: a record is here from the first change on, and hides the one of the files.
CREATE TABLE IF NOT EXISTS users (
  world  TEXT NOT NULL,
  id     TEXT NOT NULL,
  record BLOB NOT NULL,
  PRIMARY KEY (world, id)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS orders (
  world  TEXT NOT NULL,
  id     TEXT NOT NULL,
  record BLOB NOT NULL,
  PRIMARY KEY (world, id)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS outcomes (
  world       TEXT NOT NULL,
  key         TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  outcome     BLOB NOT NULL, -- the bytes of the first reply, which every repeat and every lookup gets again
  PRIMARY KEY (world, key)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS ledger (
  sequence    INTEGER PRIMARY KEY,
  world       TEXT NOT NULL,
  key         TEXT NOT NULL,
  operation   TEXT NOT NULL,
  kwargs      TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  reference   TEXT NOT NULL,
  applied_at  TEXT NOT NULL,
  UNIQUE (world, key)
);

CREATE TRIGGER IF NOT EXISTS ledger_is_never_updated BEFORE UPDATE ON ledger
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;

CREATE TRIGGER IF NOT EXISTS ledger_is_never_deleted BEFORE DELETE ON ledger
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;

-- INSERT OR REPLACE deletes without firing the trigger above, so the insert itself is refused.
CREATE TRIGGER IF NOT EXISTS ledger_is_never_replaced BEFORE INSERT ON ledger
WHEN EXISTS (SELECT 1 FROM ledger WHERE sequence = NEW.sequence OR (world = NEW.world AND key = NEW.key))
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
