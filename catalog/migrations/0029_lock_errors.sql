-- What an application suffers for locks shows in errors, too, as each proxy counts them.

ALTER TABLE latency
  ADD COLUMN lock_errors BIGINT UNSIGNED NOT NULL DEFAULT 0
    COMMENT 'commands of its clients since it started that the server refused for their locks' AFTER content;
