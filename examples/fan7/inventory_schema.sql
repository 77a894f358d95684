-- purpose:    the inventory's own world: stock, reservations, work orders and the ledger of every effect
-- parameters: none; safe to run at every start
-- returns:    nothing
-- index used: none; every table is found by its primary key or by UNIQUE (kind, key)

CREATE TABLE IF NOT EXISTS stock (
  sku       TEXT PRIMARY KEY,
  available INTEGER NOT NULL CHECK (available >= 0)
);

-- FAN-7 begins with four units. A restart finds the row and leaves it alone.
INSERT INTO stock (sku, available) VALUES ('FILTER-A', 4) ON CONFLICT DO NOTHING;

CREATE TABLE IF NOT EXISTS reservations (
  key         TEXT PRIMARY KEY,
  sku         TEXT NOT NULL REFERENCES stock (sku),
  quantity    INTEGER NOT NULL CHECK (quantity > 0),
  fingerprint TEXT NOT NULL,
  reference   TEXT NOT NULL UNIQUE,
  reserved_at TEXT NOT NULL,
  receipt     BLOB NOT NULL -- the bytes of the first reply, which every repeat gets again
);

CREATE TABLE IF NOT EXISTS work_orders (
  key         TEXT PRIMARY KEY,
  reservation TEXT NOT NULL REFERENCES reservations (key),
  task        TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  reference   TEXT NOT NULL UNIQUE,
  written_at  TEXT NOT NULL,
  receipt     BLOB NOT NULL
);

CREATE TABLE IF NOT EXISTS ledger (
  id          INTEGER PRIMARY KEY,
  kind        TEXT NOT NULL,
  key         TEXT NOT NULL,
  payload     TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  reference   TEXT NOT NULL,
  applied_at  TEXT NOT NULL,
  UNIQUE (kind, key)
);

CREATE TRIGGER IF NOT EXISTS ledger_is_never_updated BEFORE UPDATE ON ledger
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;

CREATE TRIGGER IF NOT EXISTS ledger_is_never_deleted BEFORE DELETE ON ledger
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;

-- INSERT OR REPLACE deletes without firing the trigger above, so the insert itself is refused.
CREATE TRIGGER IF NOT EXISTS ledger_is_never_replaced BEFORE INSERT ON ledger
WHEN EXISTS (SELECT 1 FROM ledger WHERE id = NEW.id OR (kind = NEW.kind AND key = NEW.key))
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
