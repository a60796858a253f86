-- A run that a person has allowed a number of rows stays an exception, whatever is approved or declared after it.

ALTER TABLE run
  ADD COLUMN exactly BOOLEAN NOT NULL DEFAULT FALSE
    COMMENT 'a person has allowed it a number of rows, and not one more: nothing to learn from' AFTER finished_at;

UPDATE run r
  JOIN policy p ON p.id = r.policy_id AND p.approved_exactly AND r.finished_at > p.approved_at
  LEFT JOIN (
    SELECT f.policy_id, MIN(f.run_at) AS run_at FROM run f
      JOIN policy a ON a.id = f.policy_id AND f.finished AND f.finished_at > a.approved_at
      GROUP BY f.policy_id
  ) used ON used.policy_id = r.policy_id
  SET r.exactly = TRUE
  WHERE used.run_at IS NULL OR r.run_at <= used.run_at;
