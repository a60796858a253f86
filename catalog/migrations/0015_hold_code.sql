-- A code says what holds a partition; the sentence beside it is for people.

ALTER TABLE policy_identity
  ADD COLUMN held_code VARCHAR(16) NULL COMMENT 'what holds this partition, in a word; NULL when nothing does' AFTER create_time;

UPDATE policy_identity SET held_code = CASE
    WHEN held = 'first sight' THEN 'first sight'
    WHEN held LIKE 'it may have got rows that were held: %' THEN 'scattered'
    WHEN held LIKE 'partition % was exchanged outside ttlproxy while a statement %' THEN 'exchanged'
    WHEN held LIKE 'partition % was rebuilt, truncated or exchanged outside ttlproxy %' THEN 'replaced'
    WHEN held LIKE 'partition % was made outside ttlproxy, %' THEN 'made'
    ELSE 'uncoded' END
WHERE held IS NOT NULL AND held_code IS NULL;

UPDATE policy_identity SET held = 'this server sees the table for the first time: a node on another member is asked whether it is the one the policy was declared on'
WHERE held_code = 'first sight';
