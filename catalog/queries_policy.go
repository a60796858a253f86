package catalog

import "github.com/ttlproxy/ttlproxy/catalog/tables"

// Policies, in the order of scanPolicy.
const (
	policyColumns = `p.id, p.version, p.schema_name, p.table_name, p.column_name, p.interval_literal, p.interval_unit,
 p.enabled,
 p.job_interval, p.time_zone, p.zone_source, p.options, p.state, p.reason, p.state_at, p.owner, p.column_signature,
 p.primary_key,
 p.approval_required, p.approval_reason, p.approved_version, p.approved_by, p.approved_at, p.approved_rows,
 p.approved_exactly,
 p.stage_server, p.stage_boot, p.stage_connection, p.stage_node, p.stage_at, p.stage_intent,
 p.created_at, p.changed_at, ` + pauseColumns + ` FROM {policy} p JOIN {pause} z ON z.policy_id = p.id`
	pauseColumns = `z.paused AND (z.until IS NULL OR z.until > UTC_TIMESTAMP(6)), z.reason, z.paused_by, z.paused_at,
 z.until`

	selectPolicies       = `SELECT ` + policyColumns
	selectPolicy         = `SELECT ` + policyColumns + ` WHERE p.schema_name = ? AND p.table_name = ?`
	selectPolicyByID     = `SELECT ` + policyColumns + ` WHERE p.id = ?`
	selectPolicyInSchema = `SELECT ` + policyColumns + ` WHERE p.schema_name = ?`
	selectMentioned      = `SELECT EXISTS (SELECT 1 FROM {policy}
		WHERE LOCATE(LOWER(table_name), ?) > 0 OR table_name REGEXP '[^0-9A-Za-z$_ -]')`
	selectThesePolicies  = `SELECT ` + policyColumns + ` WHERE p.id IN (%s)`
	selectPolicyStamps   = `SELECT id, CONCAT_WS(' ', touched_at, version) FROM {policy}`
	selectStagedPolicies = `SELECT ` + policyColumns + ` WHERE p.stage_server IS NOT NULL ORDER BY p.id`

	insertPolicy = `INSERT INTO {policy} (schema_name, table_name, column_name, interval_literal, interval_unit,
 enabled,
 job_interval, time_zone, zone_source, options, state, reason, state_at, column_signature, primary_key,
 approval_required, approval_reason, owner,
 stage_server, stage_boot, stage_connection, stage_node, stage_at, stage_intent, created_at, changed_at)
 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, UTC_TIMESTAMP(6), ?, ?, ?, ?, ?,
 ?, ?, ?, ?, IF(? IS NULL, NULL, UTC_TIMESTAMP(6)), ?, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6))`
	insertPolicyPause    = `INSERT INTO {pause} (policy_id, reason, held_reason) VALUES (?, '', '')`
	insertPolicySchedule = `INSERT INTO {schedule} (policy_id) VALUES (?)`

	updateRule = `UPDATE {policy} SET version = version + 1, column_name = ?, interval_literal = ?, interval_unit = ?,
 enabled = ?,
 job_interval = ?, time_zone = ?, zone_source = ?, options = ?, state = ?, reason = ?, state_at = UTC_TIMESTAMP(6),
 column_signature = ?, primary_key = ?, approval_required = ?, approval_reason = ?, approved_version = IF(?, version,
 approved_version),
 stage_server = NULL, stage_boot = NULL, stage_connection = NULL, stage_node = NULL, stage_at = NULL, stage_intent =
 NULL,
 changed_at = UTC_TIMESTAMP(6)
 WHERE id = ? AND version = ?`
	updatePolicyState = `UPDATE {policy} SET version = version + 1, state = ?, reason = ?, state_at = UTC_TIMESTAMP(6),
 stage_server = NULL, stage_boot = NULL, stage_connection = NULL, stage_node = NULL, stage_at = NULL, stage_intent =
 NULL
 WHERE id = ? AND version = ?`
	stagePolicy = `UPDATE {policy} SET version = version + 1, state = 'stopped', reason = ?, state_at =
 UTC_TIMESTAMP(6),
 stage_server = ?, stage_boot = ?, stage_connection = ?, stage_node = ?, stage_at = UTC_TIMESTAMP(6), stage_intent = ?
 WHERE id = ? AND version = ?`
	parkPolicyName = `UPDATE {policy} SET schema_name = '', table_name = CONCAT('#', id) WHERE id = ?`
	namePolicy     = `UPDATE {policy} SET schema_name = ?, table_name = ? WHERE id = ?`
	approvePolicy  = `UPDATE {policy} SET approved_version = version, approval_required = FALSE, approval_reason = '',
 approved_by = ?, approved_at = UTC_TIMESTAMP(6),
 approved_rows = ?, approved_exactly = ? WHERE id = ? AND version = ? AND stage_server IS NULL`
	passPolicy = `UPDATE {policy} SET approved_version = version, approved_by = ?, approved_at = NULL, approved_rows =
 NULL, approved_exactly = FALSE
 WHERE id = ? AND version = ? AND NOT approval_required AND NOT approved_version <=> version`

	// What is left of it is that the policy has been judged.
	withdrawConsent = `UPDATE {policy} SET approved_at = NULL, approved_rows = NULL, approved_exactly = FALSE
 WHERE id = ?`

	doubtApproval = `UPDATE {policy} SET approved_version = NULL WHERE id = ? AND version = ?`

	selectApprovedSince = `SELECT COALESCE(approved_version = ? AND approved_at IS NOT NULL
 AND NOT approved_at <=> ?, FALSE), approved_rows, approved_exactly FROM {policy} WHERE id = ? LOCK IN SHARE MODE`

	selectCopies = `SELECT ` + policyColumns + ` JOIN {dormant} d ON d.policy_id = p.id
 WHERE d.origin = ? AND p.state = 'dormant' AND p.stage_server IS NULL ORDER BY p.id`

	deletePolicyPause = `DELETE FROM {pause} WHERE policy_id = ? AND policy_id <> 0`
	deletePolicy      = `DELETE FROM {policy} WHERE id = ?`
)

// The bar: what every transaction writes first that stops or changes a policy. Its own schedule row
// comes before the tasks, so that no job can be created between the two.
const (
	bumpSchedule = `UPDATE {schedule} SET revision = revision + 1 WHERE policy_id = ?`
	bumpTasks    = `UPDATE {task} SET fence = fence + 1, state = 'waiting', owner = NULL, connection = NULL, server =
 NULL,
 state_at = UTC_TIMESTAMP(6) WHERE policy_id = ? AND state <> 'finished'`
	// Policies whose batches delete from other tables, too.
	selectTakersAlong = `SELECT id FROM {policy} WHERE id <> ?
 AND JSON_UNQUOTE(JSON_EXTRACT(options, '$.TTL_FK')) IN ('CHILDREN', 'CASCADE') ORDER BY id`
	bumpAllSchedules = `UPDATE {schedule} SET revision = revision + 1`
	bumpAllTasks     = `UPDATE {task} SET fence = fence + 1, state = 'waiting', owner = NULL, connection = NULL, server
 = NULL,
 state_at = UTC_TIMESTAMP(6) WHERE state <> 'finished'`
	restampJobs = `UPDATE {job} SET policy_version = ?, schema_name = ?, table_name = ? WHERE policy_id = ?`
)

// Dormant policies, and what one policy takes over from another: being held, never being let go.
const (
	selectDormancy = `SELECT origin, origin_version, origin_column, home_schema, home_table, home_state, home_reason,
 home_approved
 FROM {dormant} WHERE policy_id = ?`
	deleteDormancy = `DELETE FROM {dormant} WHERE policy_id = ?`
	insertDormancy = `INSERT INTO {dormant} (policy_id, origin, origin_version, origin_column, home_schema, home_table,
 home_state, home_reason, home_approved)
 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`
	forgetHome = `UPDATE {dormant} SET home_schema = '', home_table = '' WHERE home_schema = ? AND home_table = ?
 AND policy_id <> ?`
	selectRequired = `SELECT approval_required, approval_reason, enabled FROM {policy} WHERE id = ? LOCK IN SHARE MODE`
	sharePause     = `UPDATE {pause} z JOIN {pause} o ON o.policy_id = ?
 SET z.paused = TRUE, z.reason = o.reason, z.paused_by = o.paused_by, z.paused_at = o.paused_at, z.until = o.until
 WHERE z.policy_id = ? AND o.paused AND (o.until IS NULL OR o.until > UTC_TIMESTAMP(6))
 AND (NOT z.paused OR z.until IS NOT NULL AND (o.until IS NULL OR o.until > z.until))`
)

// Identities. A hold without a code was written by an earlier version.
const (
	selectIdentities = `SELECT partition_name, innodb_table_id, create_time, held_code, held FROM {policy_identity}
 WHERE policy_id = ? AND server = ? ORDER BY partition_name`
	selectIdentitiesHere = `SELECT partition_name, innodb_table_id, create_time, held_code, held FROM {policy_identity}
 WHERE policy_id = ? AND server = {server-key} ORDER BY partition_name`
	selectIdentitiesOfMany = `SELECT policy_id, partition_name, innodb_table_id, create_time, held_code, held
 FROM {policy_identity}
 WHERE server = {server-key} AND policy_id IN (%s) ORDER BY partition_name`
	selectHeldPartitions = `SELECT partition_name, innodb_table_id, create_time, held_code, held FROM {policy_identity}
 WHERE policy_id = ? AND partition_name <> '' AND COALESCE(held_code, held) <> ? ORDER BY seen_at DESC`
	selectHolds = `SELECT i.policy_id, i.server, i.seen_at, i.partition_name, COALESCE(i.held_code, i.held, ?) <> ?,
 COALESCE(i.held, '') FROM (SELECT DISTINCT policy_id FROM {policy_identity}
 WHERE partition_name <> '' AND COALESCE(held_code, held) <> ?) h
 JOIN {policy_identity} i ON i.policy_id = h.policy_id AND i.partition_name <> ''
 ORDER BY i.policy_id, i.partition_name`
	selectTableNumbers = `SELECT partition_name, innodb_table_id, table_number FROM {policy_identity}
 WHERE policy_id = ? AND server = ? AND table_number IS NOT NULL`
	learnTableNumber = `UPDATE {policy_identity} SET table_number = ?
 WHERE policy_id = ? AND partition_name = ? AND server = ? AND innodb_table_id = ? AND table_number IS NULL`
	forgetTableNumbers     = `UPDATE {policy_identity} SET table_number = NULL WHERE policy_id = ?`
	deleteIdentities       = `DELETE FROM {policy_identity} WHERE policy_id = ?`
	deleteServerIdentities = `DELETE FROM {policy_identity} WHERE policy_id = ? AND server = ?`
	insertIdentities       = `INSERT INTO {policy_identity} (policy_id, partition_name, server, innodb_table_id,
 table_number, create_time, held_code, held, seen_at)
 VALUES ` // and identityValues for each
	identityValues = `(?, ?, ?, ?, ?, ?, ?, ?, UTC_TIMESTAMP(6))`
)

// Identities on other members of a cluster. Conditions on {server-key} tell which is this one.
const (
	countVouchers = `SELECT COUNT(*) FROM {policy_identity} i JOIN {node} n ON n.server = i.server AND n.engine
 AND n.left_at IS NULL
 WHERE i.policy_id = ? AND i.partition_name = '' AND i.held IS NULL AND i.server <> {server-key}
 AND n.heartbeat_at >= UTC_TIMESTAMP(6) - INTERVAL ? MICROSECOND`
	selectOthers = `SELECT EXISTS (SELECT 1 FROM {node} n WHERE n.engine AND n.left_at IS NULL
 AND n.server <> {server-key}
 AND n.heartbeat_at >= UTC_TIMESTAMP(6) - INTERVAL ? MICROSECOND)`
	selectUnvouched = `SELECT ` + policyColumns + ` WHERE p.armed AND EXISTS (SELECT 1 FROM {policy_identity} i
 WHERE i.policy_id = p.id AND COALESCE(i.held_code, i.held) = '` + string(tables.FirstSight) + `'
 AND i.server <> {server-key})
 AND EXISTS (SELECT 1 FROM {policy_identity} h WHERE h.policy_id = p.id AND h.partition_name = '' AND h.held IS NULL
 AND h.server = {server-key})`
	selectUnseenOn = `SELECT ` + policyColumns + ` WHERE p.armed AND NOT EXISTS (SELECT 1 FROM {policy_identity} i
 WHERE i.policy_id = p.id AND i.partition_name = '' AND i.server = ?)
 AND EXISTS (SELECT 1 FROM {policy_identity} h WHERE h.policy_id = p.id AND h.partition_name = '' AND h.held IS NULL
 AND h.server = {server-key})
 ORDER BY p.id`
	vouch = `UPDATE {policy_identity} i JOIN {policy} p ON p.id = i.policy_id SET i.held_code = NULL, i.held = NULL
 WHERE COALESCE(i.held_code, i.held) = ? AND i.server <> {server-key} AND p.id = ? AND p.version = ?`
)

// Pauses.
const (
	setPause = `UPDATE {pause} SET paused = TRUE, reason = ?, paused_by = ?, paused_at = UTC_TIMESTAMP(6),
 until = ? WHERE policy_id = ?`
	endPause = `UPDATE {pause} SET paused = FALSE, reason = '', paused_by = '', paused_at = NULL, until = NULL
 WHERE policy_id = ?`
	setHold = `UPDATE {pause} SET held = TRUE, held_reason = ?, held_at = UTC_TIMESTAMP(6)
 WHERE policy_id = 0`
	endHold           = `UPDATE {pause} SET held = FALSE, held_reason = '', held_at = NULL WHERE policy_id = 0`
	selectPauses      = `SELECT z.policy_id, ` + pauseColumns + ` FROM {pause} z WHERE z.paused AND z.policy_id <> 0`
	selectGlobalPause = `SELECT ` + globalPause
	globalPause       = pauseColumns + `, z.held, z.held_reason, z.held_at FROM {pause} z WHERE z.policy_id = 0`
)

// Events.
const insertEvent = `INSERT INTO {event} (at, kind, policy_id, policy_version, schema_name, table_name, actor, text)
 VALUES (UTC_TIMESTAMP(6), ?, ?, ?, ?, ?, ?, ?)`

// Settings.
const (
	selectSettings = `SELECT name, value FROM {setting}`
	selectSetting  = `SELECT value FROM {setting} WHERE name = ?`
	// The revision counts the changes of settings. What was decided by an older one is refused.
	settingsRevision = `(SELECT COALESCE(MAX(l.fence), 0) + 1 FROM {lease} l WHERE l.name = 'settings')`
	selectRevision   = `SELECT ` + settingsRevision
	bumpRevision     = `INSERT INTO {lease} (name, fence) VALUES ('settings', 1)
 ON DUPLICATE KEY UPDATE fence = fence + 1`
	upsertSetting = `INSERT INTO {setting} (name, value, changed_by, changed_at) VALUES (?, ?, ?, UTC_TIMESTAMP(6))
 ON DUPLICATE KEY UPDATE value = VALUES(value), changed_by = VALUES(changed_by), changed_at = VALUES(changed_at)`
)

// The views of TTL_VIEW.
const (
	selectLiveViews = `SELECT schema_name, view_name, table_name, definition FROM {live_view}
 ORDER BY schema_name, view_name`
	upsertLiveView = `INSERT INTO {live_view} (schema_name, view_name, table_name, definition, made_by, made_at)
 VALUES (?, ?, ?, ?, ?, UTC_TIMESTAMP(6))
 ON DUPLICATE KEY UPDATE table_name = VALUES(table_name), definition = VALUES(definition),
 made_by = VALUES(made_by), made_at = VALUES(made_at)`
	deleteLiveView = `DELETE FROM {live_view} WHERE schema_name = ? AND view_name = ?`
)
