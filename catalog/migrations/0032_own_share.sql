-- What holds one node back only, such as a check on its own machine, is in every list as what holds all of them back is.

ALTER TABLE throttle
  ADD COLUMN own_share DOUBLE NULL COMMENT 'of its full speed that the checks of this node leave it; NULL for all of it' AFTER held_by,
  ADD COLUMN own_held_by TEXT NULL COMMENT 'the check that keeps it below 1' AFTER own_share,
  ADD CONSTRAINT throttle_own_share CHECK (own_share BETWEEN 0 AND 1);
