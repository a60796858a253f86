-- The same for people: SELECT * FROM ttlproxy.policies, when there is no proxy at hand to say SHOW TTL TABLES.

CREATE OR REPLACE SQL SECURITY INVOKER VIEW policies AS
SELECT CONCAT(p.schema_name, '.', p.table_name) AS `table`,
  CONCAT(p.column_name, ' + INTERVAL ', p.interval_literal, ' ', p.interval_unit) AS `expires at`,
  IF(p.enabled, 'ON', 'OFF') AS enabled,
  p.job_interval AS `every`,
  p.time_zone AS `time zone`,
  CASE WHEN g.held THEN 'held' WHEN g.paused OR z.paused THEN 'paused' ELSE p.state END AS state,
  CASE WHEN g.held THEN g.held_reason WHEN g.paused THEN g.reason WHEN z.paused THEN z.reason ELSE p.reason END AS reason,
  CASE WHEN p.approved_version = p.version THEN 'approved' WHEN p.approval_required THEN 'needs approval' ELSE 'as the brake says' END AS approval,
  s.last_started_at AS `last started (UTC)`,
  s.last_state AS `last result`,
  p.owner AS `declared by`,
  p.changed_at AS `changed (UTC)`
FROM policy p
JOIN pause z ON z.policy_id = p.id
JOIN pause g ON g.policy_id = 0
LEFT JOIN schedule s ON s.policy_id = p.id AND s.partition_name = ''
ORDER BY p.schema_name, p.table_name;

CREATE OR REPLACE SQL SECURITY INVOKER VIEW jobs AS
SELECT j.id AS job,
  CONCAT(j.schema_name, '.', j.table_name) AS `table`,
  j.partition_name AS `partition`,
  j.state,
  j.reason,
  j.cutoff AS `cutoff (UTC)`,
  j.plan,
  COUNT(t.id) AS tasks,
  COALESCE(SUM(t.state = 'finished'), 0) AS `tasks finished`,
  COALESCE(SUM(t.deleted), 0) AS deleted,
  COALESCE(SUM(t.failed), 0) AS failed,
  COALESCE(SUM(t.examined), 0) AS examined,
  j.created_at AS `started (UTC)`,
  n.name AS node
FROM job j
LEFT JOIN task t ON t.job_id = j.id
LEFT JOIN node n ON n.id = j.owner
GROUP BY j.id, j.schema_name, j.table_name, j.partition_name, j.state, j.reason, j.cutoff, j.plan, j.created_at, n.name
ORDER BY j.id;

CREATE OR REPLACE SQL SECURITY INVOKER VIEW tasks AS
SELECT t.job_id AS job, t.seq AS task, t.state, t.range_start AS `from key`, t.range_end AS `to key`, t.cursor_key AS `at key`,
  t.deleted, t.examined, t.error, n.name AS node, t.connection
FROM task t
LEFT JOIN node n ON n.id = t.owner
ORDER BY t.job_id, t.seq;

CREATE OR REPLACE SQL SECURITY INVOKER VIEW history AS
SELECT h.job_id AS job,
  CONCAT(h.schema_name, '.', h.table_name) AS `table`,
  h.partition_name AS `partition`,
  h.state,
  h.reason,
  h.cutoff AS `cutoff (UTC)`,
  h.deleted,
  h.refreshed,
  h.failed,
  h.skipped,
  h.examined,
  h.created_at AS `started (UTC)`,
  h.finished_at AS `finished (UTC)`,
  h.plan,
  h.plan_reason AS `plan reason`
FROM job_history h
ORDER BY h.finished_at DESC;

CREATE OR REPLACE SQL SECURITY INVOKER VIEW errors AS
SELECT CONCAT(p.schema_name, '.', p.table_name) AS `table`,
  e.partition_name AS `partition`,
  e.row_key AS `key`,
  e.error_number AS error,
  e.reason,
  e.attempts,
  e.first_at AS `first (UTC)`,
  e.last_at AS `last (UTC)`,
  e.next_try_at AS `next try (UTC)`
FROM row_error e
JOIN policy p ON p.id = e.policy_id
ORDER BY e.last_at DESC;

CREATE OR REPLACE SQL SECURITY INVOKER VIEW nodes AS
SELECT n.id AS node,
  n.name,
  n.address,
  n.version,
  CASE WHEN n.left_at IS NOT NULL THEN 'left' WHEN n.heartbeat_at < UTC_TIMESTAMP(6) - INTERVAL 15 SECOND THEN 'silent' ELSE 'live' END AS state,
  n.status,
  IF(n.engine, 'ON', 'OFF') AS engine,
  n.started_at AS `started (UTC)`,
  n.heartbeat_at AS `heartbeat (UTC)`
FROM node n
ORDER BY n.heartbeat_at DESC;

CREATE OR REPLACE SQL SECURITY INVOKER VIEW events AS
SELECT e.at AS `at (UTC)`,
  e.kind,
  CONCAT_WS('.', NULLIF(e.schema_name, ''), NULLIF(e.table_name, '')) AS `table`,
  e.actor AS `by`,
  e.text
FROM event e
ORDER BY e.id DESC;
