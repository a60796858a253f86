-- What a job waits for, where something goes by that, so that nobody has to know it by the words of its reason.

ALTER TABLE job
  ADD COLUMN waits_for VARCHAR(8) NOT NULL DEFAULT ''
    COMMENT 'person: one who has paused it; policy: that of a table of which rows would go along; empty otherwise' AFTER reason,
  ADD CONSTRAINT job_waits_for CHECK (waits_for IN ('', 'person', 'policy'));
