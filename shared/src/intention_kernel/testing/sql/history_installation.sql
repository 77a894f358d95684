-- Purpose: which incarnation of the database this is, for a history.
-- Parameters: none. Returns one row. Indexes: none; it is asked of installations of a test or a demo.
select incarnation, recoveries from installation
