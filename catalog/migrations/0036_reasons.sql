-- The view shows what SHOW TTL TABLES does: that a policy is disarmed although somebody has paused it, too, why one waits
-- for approval, and the job that started last of a table whose partitions have jobs of their own.

CREATE OR REPLACE SQL SECURITY INVOKER VIEW policies AS
SELECT CONCAT(p.schema_name, '.', p.table_name) AS `table`,
  CONCAT('`', REPLACE(p.column_name, '`', '``'), '` + INTERVAL ', p.interval_literal, ' ', p.interval_unit) AS `expires at`,
  IF(p.enabled, 'ON', 'OFF') AS enabled,
  CONCAT(IF(JSON_EXTRACT(p.options, '$.TTL_CRON') IS NULL, 'every ', 'cron '),
    COALESCE(JSON_UNQUOTE(JSON_EXTRACT(p.options, '$.TTL_CRON')), p.job_interval),
    IF(JSON_EXTRACT(p.options, '$.TTL_CRON') IS NULL AND JSON_EXTRACT(p.options, '$.TTL_MAX_LAG') IS NOT NULL,
      ', or half of TTL_MAX_LAG if that is less', '')) AS schedule,
  COALESCE(JSON_UNQUOTE(JSON_EXTRACT(p.options, '$.TTL_WINDOW')), '') AS `window`,
  COALESCE(JSON_UNQUOTE(JSON_EXTRACT(p.options, '$.TTL_MAX_LAG')), '') AS `max lag`,
  COALESCE(JSON_UNQUOTE(JSON_EXTRACT(p.options, '$.TTL_DELETE_RATE')), '') AS `delete rate`,
  COALESCE(JSON_UNQUOTE(JSON_EXTRACT(p.options, '$.TTL_DELETE_BATCH_SIZE')), '') AS `batch size`,
  REPLACE(REPLACE(REPLACE(REPLACE(REPLACE(REPLACE(REPLACE(
    COALESCE(NULLIF(CAST(JSON_REMOVE(p.options, '$.TTL_CRON', '$.TTL_WINDOW', '$.TTL_MAX_LAG', '$.TTL_DELETE_RATE',
      '$.TTL_DELETE_BATCH_SIZE') AS CHAR), '{}'), ''),
    '": "', '="'), '":"', '="'), '", "', '" '), '","', '" '), '{"', ''), '"}', '"'), '"', '''') COLLATE utf8mb4_bin AS `other options`,
  p.time_zone AS `time zone`,
  CASE WHEN p.state <> 'armed' THEN p.state WHEN g.held THEN 'held' WHEN IF(g.paused, COALESCE(g.until > UTC_TIMESTAMP(6), TRUE), FALSE)
    OR IF(z.paused, COALESCE(z.until > UTC_TIMESTAMP(6), TRUE), FALSE) THEN 'paused' ELSE p.state END AS state,
  CASE WHEN p.state <> 'armed' THEN p.reason WHEN g.held THEN g.held_reason
    WHEN IF(g.paused, COALESCE(g.until > UTC_TIMESTAMP(6), TRUE), FALSE)
      THEN CONCAT_WS(' ', 'everything, by', g.paused_by, CONCAT('until ', LEFT(g.until, 19), '+00:00'), NULLIF(g.reason, ''))
    WHEN IF(z.paused, COALESCE(z.until > UTC_TIMESTAMP(6), TRUE), FALSE)
      THEN CONCAT_WS(' ', 'by', z.paused_by, CONCAT('until ', LEFT(z.until, 19), '+00:00'), NULLIF(z.reason, ''))
    WHEN p.reason = '' AND p.approval_required AND COALESCE(p.approved_version <> p.version, TRUE) THEN p.approval_reason
    ELSE p.reason END AS reason,
  CASE WHEN p.approved_version = p.version THEN 'approved' WHEN p.approval_required THEN 'needs approval' ELSE 'as the brake says' END AS approval,
  (SELECT MAX(s.last_started_at) FROM schedule s WHERE s.policy_id = p.id) AS `last started (UTC)`,
  (SELECT s.last_state FROM schedule s WHERE s.policy_id = p.id AND s.last_started_at IS NOT NULL
    ORDER BY s.last_started_at DESC, s.partition_name LIMIT 1) AS `last result`,
  p.owner AS `declared by`,
  p.changed_at AS `changed (UTC)`
FROM policy p
JOIN pause z ON z.policy_id = p.id
JOIN pause g ON g.policy_id = 0
ORDER BY p.schema_name, p.table_name;
