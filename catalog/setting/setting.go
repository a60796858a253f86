package setting

import (
	"math"
	"strings"
)

// Kind is how a setting's value is read.
type Kind string

// The kinds of settings.
const (
	KindBool     Kind = "boolean"     // ON or OFF
	KindInt      Kind = "integer"     // clamped to its range, or refused
	KindDuration Kind = "duration"    // 1d12h, 30m, 45s
	KindTime     Kind = "time of day" // HH:MM +ZZZZ
	KindZone     Kind = "time zone"   // name, offset or empty
	KindDate     Kind = "date"        // YYYY-MM-DD
	KindRates    Kind = "speeds"      // by the clock, or empty
	KindHosts    Kind = "hosts"       // with ports, separated by commas, or empty
	KindChoice   Kind = "choice"      // one of a list
)

// Setting is one line of the table that SQL variables and the reference page are made from.
type Setting struct {
	Name    string
	Alias   string // TiDB's name for it; empty for ours
	Kind    Kind
	Default string
	Min     int64
	Max     int64
	Choices []string
	Scope   string // what a limit counts: node, cluster or table
	Effect  Effect
	Text    string

	spelled string // the name it was found by, for errors
}

// Effect is what a changed value holds for, from the moment that the statement has answered.
type Effect string

// What a change holds for.
const (
	EffectAtOnce Effect = "at once"                                   // no row is deleted under the old value
	EffectReplan Effect = "at once: open jobs are replanned"          // because it is written into each of them
	EffectRuns   Effect = "for runs that begin from then on"          // it is judged when they do
	EffectNew    Effect = "for tables that are declared from then on" // and kept with their policy
	EffectEvents Effect = "for whatever happens from then on"         // jobs have no part in it
)

// The names, for those who read a value.
const (
	JobEnable            = "ttl_job_enable"
	ScanBatchSize        = "ttl_scan_batch_size"
	DeleteBatchSize      = "ttl_delete_batch_size"
	DeleteRateLimit      = "ttl_delete_rate_limit"
	ScanWorkerCount      = "ttl_scan_worker_count"
	DeleteWorkerCount    = "ttl_delete_worker_count"
	RunningTasks         = "ttl_running_tasks"
	WindowStart          = "ttl_job_schedule_window_start_time"
	WindowEnd            = "ttl_job_schedule_window_end_time"
	EnableIndexScan      = "ttl_enable_index_scan"
	DeleteRowsLimit      = "ttl_delete_rows_limit"
	ScanRateLimit        = "ttl_scan_rate_limit"
	ClusterRowsLimit     = "ttl_cluster_rows_limit"
	RateSchedule         = "ttl_rate_schedule"
	BatchTargetMS        = "ttl_batch_target_ms"
	ThrottleFloor        = "ttl_throttle_floor"
	ThrottleApplication  = "ttl_throttle_application"
	ThrottleThreads      = "ttl_throttle_threads_running"
	ThrottleHistory      = "ttl_throttle_history_length"
	ThrottleLockWaits    = "ttl_throttle_lock_waits"
	ThrottleLockErrors   = "ttl_throttle_lock_errors"
	ThrottleLatency      = "ttl_throttle_latency"
	ThrottleProbe        = "ttl_throttle_probe"
	ThrottleFlowControl  = "ttl_throttle_flow_control"
	ThrottleReceiveQueue = "ttl_throttle_receive_queue"
	ThrottleGroupQueue   = "ttl_throttle_group_queue"
	ThrottleCheckpoint   = "ttl_throttle_checkpoint_age"
	ThrottleReplicaLag   = "ttl_throttle_replica_lag"
	ThrottleReplicas     = "ttl_throttle_replicas"
	ThrottleLagUnknown   = "ttl_throttle_lag_unknown"
	BrakeMaxRows         = "ttl_brake_max_rows"
	BrakeRows            = "ttl_brake_rows"
	BrakePercent         = "ttl_brake_percent"
	BrakeFactor          = "ttl_brake_factor"
	Restore              = "ttl_restore"
	Around               = "ttl_around"
	AllowReplica         = "ttl_allow_replica"
	StaleHold            = "ttl_stale_hold"
	DefaultJobInterval   = "ttl_default_job_interval"
	DefaultTimeZone      = "ttl_default_time_zone"
	DateFloor            = "ttl_date_floor"
	MaxChildren          = "ttl_fk_max_children"
	PartitionLockWait    = "ttl_partition_lock_wait"
	HistoryDays          = "ttl_history_days"
	JobTimeout           = "ttl_job_timeout"
	HTTPTrigger          = "ttl_http_trigger"
)

// The choices that something depends on.
const (
	AroundFollow = "follow"
	RestoreArm   = "arm"
	LagHold      = "hold"
)

// All returns the table, TiDB's settings first. TiDB's have its defaults and ranges.
func All() []Setting {
	const none = math.MaxInt64
	return []Setting{
		{
			Name: JobEnable, Alias: "tidb_" + JobEnable, Kind: KindBool,
			Default: "ON", Scope: "cluster", Effect: EffectAtOnce,
			Text: "OFF ends running jobs and starts no new ones.",
		},
		{
			Name: ScanBatchSize, Alias: "tidb_" + ScanBatchSize, Kind: KindInt,
			Default: "500", Min: 1, Max: 10240, Scope: "statement", Effect: EffectAtOnce,
			Text: "The most rows that a statement examines for a DELETE, once this is set. Until then, blocks of " +
				"rows grow and shrink with the time they take (ttl_batch_target_ms), and an index on time is read " +
				"in pages of 500.",
		},
		{
			Name: DeleteBatchSize, Alias: "tidb_" + DeleteBatchSize, Kind: KindInt,
			Default: "100", Min: 1, Max: 10240, Scope: "statement", Effect: EffectAtOnce,
			Text: "The most rows that a DELETE of any plan deletes, once this is set. Until then, DELETEs over a " +
				"range grow and shrink with the time they take (ttl_batch_target_ms), and those by key name 100, " +
				"or up to 1000 where foreign keys decide (TTL_FK). " +
				"TTL_DELETE_BATCH_SIZE sets it for one table.",
		},
		{
			Name: DeleteRateLimit, Alias: "tidb_" + DeleteRateLimit, Kind: KindInt,
			Default: "0", Max: none, Scope: "node", Effect: EffectAtOnce,
			Text: "The most DELETE statements per second on each node, retries included; 0 for no limit. The " +
				"search for rows does not wait for it.",
		},
		{
			Name: ScanWorkerCount, Alias: "tidb_" + ScanWorkerCount, Kind: KindInt,
			Default: "4", Min: 1, Max: 256, Scope: "node", Effect: EffectAtOnce,
			Text: "The most tasks a node works on at the same time. A worker both searches and deletes, so the " +
				"smaller of this and ttl_delete_worker_count counts.",
		},
		{
			Name: DeleteWorkerCount, Alias: "tidb_" + DeleteWorkerCount, Kind: KindInt,
			Default: "4", Min: 1, Max: 256, Scope: "node", Effect: EffectAtOnce,
			Text: "The most DELETE statements a node runs at the same time. The smaller of this and " +
				"ttl_scan_worker_count counts.",
		},
		{
			Name: RunningTasks, Alias: "tidb_" + RunningTasks, Kind: KindInt,
			Default: "-1", Min: 1, Max: 256, Scope: "cluster", Effect: EffectAtOnce,
			Text: "The most tasks that run in the whole cluster; -1 for the number of live engine nodes times " +
				"scan workers, at most 256.",
		},
		{
			Name: WindowStart, Alias: "tidb_" + WindowStart, Kind: KindTime,
			Default: "00:00 +0000", Scope: "cluster", Effect: EffectAtOnce,
			Text: "Jobs run from this minute of the day. Without an offset the session's time zone counts.",
		},
		{
			Name: WindowEnd, Alias: "tidb_" + WindowEnd, Kind: KindTime,
			Default: "23:59 +0000", Scope: "cluster", Effect: EffectAtOnce,
			Text: "Jobs run up to and including this minute. Before the start, the window crosses midnight.",
		},
		{
			Name: EnableIndexScan, Alias: "tidb_" + EnableIndexScan, Kind: KindBool,
			Default: "ON", Scope: "cluster", Effect: EffectReplan,
			Text: "Whether rows may be found by an index that begins with the TTL column. A table without a " +
				"usable key uses it regardless.",
		},

		{
			Name: DeleteRowsLimit, Kind: KindInt, Default: "0", Max: none, Scope: "node", Effect: EffectAtOnce,
			Text: "The most rows deleted per second on each node; 0 for no limit.",
		},
		{
			Name: ScanRateLimit, Kind: KindInt, Default: "0", Max: none, Scope: "node", Effect: EffectAtOnce,
			Text: "The most rows examined per second on each node; 0 for no limit.",
		},
		{
			Name: ClusterRowsLimit, Kind: KindInt, Default: "0", Max: none, Scope: "cluster", Effect: EffectAtOnce,
			Text: "The most rows deleted per second by all nodes together; 0 for no limit.",
		},
		{
			Name: RateSchedule, Kind: KindRates, Default: "", Scope: "cluster", Effect: EffectAtOnce,
			Text: "The most rows deleted per second by all nodes together, by the clock: '1000; mon-fri " +
				"22:00-06:00 20000; sat-sun unlimited; zone Europe/Berlin'. Where parts meet, the slowest decides; " +
				"the one without days and hours is for all other times; without a zone, UTC counts. " +
				"TTL_DELETE_RATE takes the same for one table.",
		},
		{
			Name: BatchTargetMS, Kind: KindInt,
			Default: "50", Min: 1, Max: 10000, Scope: "statement", Effect: EffectAtOnce,
			Text: "How many milliseconds a DELETE should take; batches grow and shrink towards it.",
		},
		{
			Name: ThrottleFloor, Kind: KindInt, Default: "2", Max: 100, Scope: "cluster", Effect: EffectEvents,
			Text: "The percentage of its full speed to which signals may slow deletion down; 0 lets them stop it, " +
				"100 lets them do nothing. What holds it stops it in any case: --throttle-url, or an unknown lag " +
				"with ttl_throttle_lag_unknown = 'hold'. Once it is set, each node has as much beside " +
				"an application, too.",
		},
		{
			Name: ThrottleApplication, Kind: KindInt, Default: "20", Max: 100_000, Scope: "cluster",
			Effect: EffectEvents,
			Text: "The percentage of one session's time that deletion has in the whole cluster while others are at " +
				"work on the server, with 20 transactions a second and more. It is more where nobody notices for " +
				"a while, and full speed is back a second and a half after they have gone, or sooner. 0 for no such " +
				"bound.",
		},
		{
			Name: ThrottleThreads, Kind: KindInt, Default: "64", Max: 100_000, Scope: "cluster", Effect: EffectEvents,
			Text: "Deletion slows down before more statements than this run on the server at the same time " +
				"(Threads_running); 0 for any number.",
		},
		{
			Name: ThrottleHistory, Kind: KindInt, Default: "1000000", Max: none, Scope: "cluster", Effect: EffectEvents,
			Text: "Deletion slows down before InnoDB's history list is longer than this: row versions that wait " +
				"for the purge, perhaps because of an old transaction; 0 for any length.",
		},
		{
			Name: ThrottleLockWaits, Kind: KindInt, Default: "5", Max: 100_000, Scope: "cluster", Effect: EffectEvents,
			Text: "Deletion slows down before this many statements more than usual wait for rows at the same time; " +
				"0 for any number.",
		},
		{
			Name: ThrottleLockErrors, Kind: KindInt, Default: "10", Max: 100_000, Scope: "cluster",
			Effect: EffectEvents,
			Text: "Deletion slows down before the server refuses this many commands of the proxies' clients a minute " +
				"more than usual, and twice as many as usual, for locks: waits that take too long (1205), deadlocks " +
				"(1213), conflicts in a group (3101). 0 for any number.",
		},
		{
			Name: ThrottleLatency, Kind: KindInt, Default: "200", Max: 100_000, Scope: "cluster", Effect: EffectEvents,
			Text: "Deletion slows down before the writes of other accounts, or what they have prepared or call, take " +
				"more than this percentage of the time they usually take, on average; 0 for any time. It needs " +
				"MySQL's or MariaDB's performance_schema.",
		},
		{
			Name: ThrottleProbe, Kind: KindInt, Default: "150", Max: 100_000, Scope: "cluster", Effect: EffectEvents,
			Text: "Deletion slows down before a small change of the engine's own takes more than this percentage of " +
				"the time it usually takes, on average; 0 for any time.",
		},
		{
			Name: ThrottleFlowControl, Kind: KindInt, Default: "5", Max: 100, Scope: "cluster", Effect: EffectEvents,
			Text: "Deletion slows down before a Galera cluster spends more than this percentage of the time " +
				"waiting for its slowest member (flow control); 0 for any time.",
		},
		{
			Name: ThrottleReceiveQueue, Kind: KindInt, Default: "100", Max: 1_000_000, Scope: "cluster",
			Effect: EffectEvents,
			Text: "Deletion slows down before more transactions than this wait to be applied by the Galera node " +
				"on which rows are deleted; 0 for any number.",
		},
		{
			Name: ThrottleGroupQueue, Kind: KindInt, Default: "5000", Max: 1_000_000_000, Scope: "cluster",
			Effect: EffectEvents,
			Text: "Deletion slows down before more transactions than this wait to be certified or applied by a " +
				"member of MySQL's Group Replication; 0 for any number.",
		},
		{
			Name: ThrottleCheckpoint, Kind: KindInt, Default: "0", Max: 100, Scope: "cluster", Effect: EffectEvents,
			Text: "Deletion slows down before more than this percentage of what InnoDB lets grow of its redo log is " +
				"in use (checkpoint age): at 100 every writer waits. 0 for any part: a server that writes pages " +
				"as late as it can is always near seven eighths.",
		},
		{
			Name: ThrottleReplicaLag, Kind: KindInt, Default: "1000", Max: 86_400_000, Scope: "cluster",
			Effect: EffectEvents,
			Text: "Deletion slows down before a replica is more milliseconds behind than this; 0 for any time. " +
				"Replicas are watched if ttlproxy was started with --replica-user.",
		},
		{
			Name: ThrottleReplicas, Kind: KindHosts, Default: "", Scope: "cluster", Effect: EffectEvents,
			Text: "The replicas that are watched: 'db2, db3:3307'; empty for those that have told the server " +
				"their address (--report-host), if the engine's account may see them.",
		},
		{
			Name: ThrottleLagUnknown, Kind: KindChoice, Default: LagHold, Choices: []string{LagHold, "floor"},
			Scope: "cluster", Effect: EffectEvents,
			Text: "What becomes of deletion while nobody knows how far a replica is behind, or while its lag does " +
				"not fall for five minutes: hold stops it, floor slows it down to ttl_throttle_floor.",
		},
		{
			Name: BrakeMaxRows, Kind: KindInt, Default: "1000000", Max: none, Scope: "table", Effect: EffectRuns,
			Text: "A new or changed policy waits for APPROVE when more rows than this are due.",
		},
		{
			Name: BrakeRows, Kind: KindInt, Default: "10000", Max: none, Scope: "table", Effect: EffectRuns,
			Text: "… or when more rows than this are due and they are ttl_brake_percent of the table.",
		},
		{
			Name: BrakePercent, Kind: KindInt, Default: "50", Max: 100, Scope: "table", Effect: EffectRuns,
			Text: "Share of the table that makes the brake hold; 0 holds every run that has rows to delete, whatever " +
				"ttl_brake_factor and TTL_BRAKE_FACTOR say, 100 none.",
		},
		{
			Name: BrakeFactor, Kind: KindInt, Default: "10", Max: 1_000_000, Scope: "table", Effect: EffectRuns,
			Text: "A later run waits for APPROVE when this many times more rows are due than the table usually " +
				"expires in the time since its last run, if they are also more than ttl_brake_rows and " +
				"ttl_brake_percent of the table; 0 judges a policy only once. TTL_BRAKE_FACTOR sets it for one table.",
		},
		{
			Name: Restore, Kind: KindChoice,
			Default: "hold", Choices: []string{"hold", RestoreArm}, Scope: "cluster", Effect: EffectNew,
			Text: "What becomes of a policy that comes from a dump: with hold it waits for APPROVE.",
		},
		{
			Name: Around, Kind: KindChoice,
			Default: AroundFollow, Choices: []string{AroundFollow, "disarm"}, Scope: "cluster", Effect: EffectEvents,
			Text: "What becomes of a policy whose table was changed around the proxy, in columns that it does not " +
				"depend on, or by a rebuild: with follow it goes on with the same table, and waits for APPROVE if " +
				"the rows may be another table's; with disarm it stops until a person arms it.",
		},
		{
			Name: AllowReplica, Kind: KindBool, Default: "OFF", Scope: "cluster", Effect: EffectAtOnce,
			Text: "Whether to delete on a server whose replication applier runs (circular pairs, migrations).",
		},
		{
			Name: StaleHold, Kind: KindDuration, Default: "24h", Min: 1, Scope: "cluster", Effect: EffectEvents,
			Text: "A catalog nobody has worked with for longer than this holds its policies until TRUST TTL " +
				"SERVER, except on a proxy that remembers it.",
		},
		{
			Name: DefaultJobInterval, Kind: KindDuration, Default: "24h", Min: 1, Scope: "cluster", Effect: EffectNew,
			Text: "TTL_JOB_INTERVAL of tables whose declaration does not say.",
		},
		{
			Name: DefaultTimeZone, Kind: KindZone, Default: "", Scope: "cluster", Effect: EffectNew,
			Text: "Zone of DATETIME and DATE values in tables without TTL_TIME_ZONE; empty for the server's when the " +
				"policy is declared.",
		},
		{
			Name: DateFloor, Kind: KindDate, Default: "1970-01-02", Scope: "cluster", Effect: EffectReplan,
			Text: "Dates before this one are mistakes and never expire.",
		},
		{
			Name: MaxChildren, Kind: KindInt,
			Default: "1000", Min: 1, Max: 10_000, Scope: "statement", Effect: EffectAtOnce,
			Text: "The most rows that go in one transaction with rows that they depend on (TTL_FK). If there are " +
				"more of a single row, they go first, in parts of that size ('CHILDREN'), or the row stays " +
				"('CASCADE'). No more than ttl_scan_batch_size once that is set.",
		},
		{
			Name: PartitionLockWait, Kind: KindDuration,
			Default: "1s", Min: 1, Max: 5, Scope: "statement", Effect: EffectAtOnce,
			Text: "How long a partition that leaves its table whole (TTL_PARTITION) waits for those who use the " +
				"table, and others behind it, PAUSE TTL among them. If that is not enough, it is tried again after a " +
				"minute.",
		},
		{
			Name: HistoryDays, Kind: KindInt, Default: "90", Min: 1, Max: 36500, Scope: "cluster", Effect: EffectAtOnce,
			Text: "Days for which ended jobs, events and policies of vanished tables are kept.",
		},
		{
			Name: JobTimeout, Kind: KindDuration, Default: "6h", Min: 60, Scope: "table", Effect: EffectAtOnce,
			Text: "A job that has run for longer than this, all its time together, ends as timed out, and the next " +
				"one takes what is left; waiting for a window or an approval, and being paused, does not count. Time " +
				"in which signals let nothing go, or no engine runs, does.",
		},
		{
			Name: HTTPTrigger, Kind: KindBool, Default: "OFF", Scope: "cluster", Effect: EffectEvents,
			Text: "Whether TiDB's trigger endpoint starts jobs without a token.",
		},
	}
}

// Find returns a setting by its name or by TiDB's, in any letter case.
func Find(name string) (Setting, bool) {
	for _, s := range All() {
		if strings.EqualFold(name, s.Name) || s.Alias != "" && strings.EqualFold(name, s.Alias) {
			s.spelled = name
			return s, true
		}
	}
	return Setting{}, false
}
