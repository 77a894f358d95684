-- Purpose: what only the attempt that has a thread may move: heads go forward, turns are committed, attempts are prepared.
-- Parameters: none. Returns one row. Indexes: none; it is asked of installations of a test or a demo.
select (select count(*) from turns) as committed, (select coalesce(sum(attempt), 0) from receipts) as prepared,
       (select coalesce(sum(revision), 0) from threads) as revisions, (select coalesce(sum(fence), 0) from threads) as fences
