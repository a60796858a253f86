package ttl

import (
	"database/sql"
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
	"github.com/ttlproxy/ttlproxy/ttl/work"
)

// TestSessionsAreTheSameWhateverTheServerSays sets every variable that sessions begin with, on a
// server of its own, as low and as high as it goes, and an init_connect that does its worst. Our
// sessions are as before but for the variables of reachesUs, a table looks the same to them, and a whole job deletes
// the rows that are due and no others.
func TestSessionsAreTheSameWhateverTheServerSays(t *testing.T) {
	for _, flavour := range mysqltest.Flavours {
		t.Run(string(flavour), func(t *testing.T) {
			t.Parallel()
			s := mysqltest.Start(t, flavour)
			root := s.Open(t, "")
			root.SetMaxOpenConns(1)
			monitor := "REPLICATION CLIENT ON *.*"

			if s.MariaDB() {
				monitor = "REPLICA MONITOR ON *.*"
			}

			cfg := s.Account(t, "service",
				"SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, ALTER, INDEX, REFERENCES, CREATE VIEW, SHOW VIEW, "+
					"PROCESS ON *.*", monitor)
			names, before := sessionGlobals(t, root), ourSessions(t, cfg)
			f, p := computedBefore(t, cfg)
			for _, level := range []string{"low", "high"} {
				t.Run(level, func(t *testing.T) {
					for _, name := range append(names, "init_connect") {
						set(t, root, name, level)
					}

					after := ourSessions(t, cfg)
					for _, name := range names {
						if _, known := reachesUs[name]; !known && after[name] != before[name] {
							t.Errorf("%s of an administrator reaches our sessions (catalog, engine): got %s, want %s",
								name, after[name], before[name])
						}
					}

					for name, session := range sessionsOf(t, cfg) {
						ttltest.ReadsTheServersClock(t, name, session)
					}

					if _, why, err := f.at(utc("05-10 12:00:00")).engine.store.Recognize(t.Context(), "test", p); why != "" ||
						err != nil {
						t.Errorf("the table looks different: got %q, %v", why, err)
					}

					deletesWhatIsDue(t, cfg)
				})
			}
		})
	}
}

// computedBefore is a policy on a column that is computed from another.
func computedBefore(t *testing.T, cfg *mysql.Config) (*fixture, catalog.Policy) {
	t.Helper()
	f := &fixture{ttltest.NewMigratedBed(t, cfg, 0)}
	f.Exec(f.In("CREATE TABLE {t}.t (id INT PRIMARY KEY, base DATETIME, " +
		"made DATETIME AS (IF(base < '2020-01-01', NULL, base) + INTERVAL 1 DAY) VIRTUAL)"))
	return f, f.at(utc("05-10 12:00:00")).declare("UTC", "1h", nil)
}

// deletesWhatIsDue runs a job from its declaration to its end.
func deletesWhatIsDue(t *testing.T, cfg *mysql.Config) {
	t.Helper()
	f := &fixture{ttltest.NewMigratedBed(t, cfg, 0)}
	f.Fill("t", 200)
	m := f.at(utc("05-10 12:00:00"))
	m.declare("UTC", "1h", nil)
	m.pass()

	if got := f.Text("SELECT CONCAT_WS(' ', COUNT(*), SUM(id % 2)) FROM " + f.Schema + ".t"); got != "100 0" {
		t.Errorf("rows, and due ones among them: got %s, want 100 0", got)
	}

	c := f.Schema + "_c."
	if got := f.Text("SELECT CONCAT_WS(' ', (SELECT state FROM " + c +
		"policy), state, deleted, NULLIF(reason, '')) FROM " + c + "job_history"); got != "armed finished 100" {
		t.Errorf("policy and job: got %s, want armed finished 100", got)
	}
}

// ourSessions are the variables of a session of the catalog and one of the engine.
func ourSessions(t *testing.T, cfg *mysql.Config) map[string]string {
	t.Helper()
	sessions := sessionsOf(t, cfg)
	of := ttltest.Variables(t, sessions["catalog"], "SESSION")
	for name, value := range ttltest.Variables(t, sessions["engine"], "SESSION") {
		of[name] += ", " + value
	}
	return of
}

// sessionsOf are a session of the catalog and one of the engine.
func sessionsOf(t *testing.T, cfg *mysql.Config) map[string]tables.Querier {
	t.Helper()
	connector, err := catalog.Connector(cfg)
	if err != nil {
		t.Fatal(err)
	}

	db := sql.OpenDB(connector)
	engine, err := work.NewPool(cfg)
	if err != nil {
		t.Fatal(err)
	}

	session := engine.Session()
	t.Cleanup(func() {
		session.Close()
		engine.Close()
		_ = db.Close()
	})

	if err := session.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}

	return map[string]tables.Querier{"catalog": db, "engine": session}
}

// sessionGlobals lists the variables whose global value is what sessions begin with.
func sessionGlobals(t *testing.T, db *sql.DB) (names []string) {
	t.Helper()
	for name := range ttltest.Variables(t, db, "GLOBAL") {
		if _, err := db.ExecContext(t.Context(), "DO @@session."+name); err != nil || takesTheServerAway[name] {
			continue
		}
		if _, err := db.ExecContext(t.Context(), "SET GLOBAL "+name+" = DEFAULT"); err == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// set gives a variable a value that it does not have by itself.
func set(t *testing.T, db *sql.DB, name, level string) {
	t.Helper()
	values := []string{"0"}
	if level == "high" {
		values = []string{"18446744073709551615", "4294967295", "9", "6", "4", "3", "2", "1"}
	}

	switch special, ok := hostile[name]; {
	case hangsUp[name] && level == "low":
		values = []string{"5"}
	case name == "optimizer_switch":
		var switches string
		if err := db.QueryRowContext(t.Context(), "SELECT @@global.optimizer_switch").Scan(&switches); err != nil {
			t.Fatal(err)
		}

		state := map[string]string{"low": "=off", "high": "=on"}[level]
		for one := range strings.SplitSeq(switches, ",") {
			one, _, _ = strings.Cut(one, "=")
			_, _ = db.ExecContext(t.Context(), "SET GLOBAL optimizer_switch = '"+one+state+"'") // some cannot be had
		}

		return
	case ok:
		values = special
	}

	for _, v := range values {
		if _, err := db.ExecContext(t.Context(), "SET GLOBAL "+name+" = "+v); err == nil {
			return
		}
	}

	if _, tolerant := reachesUs[name]; !tolerant {
		t.Errorf("%s: no value could be set", name)
	}
}

// hostile are values for variables that take no number, the first that the server takes.
var hostile = map[string][]string{
	"init_connect": {`'SET foreign_key_checks = 0, sql_select_limit = 1, timestamp = 2000000000; START TRANSACTION READ ONLY'`},
	"sql_mode": {
		`'ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES,HIGH_NOT_PRECEDENCE,IGNORE_SPACE,NO_UNSIGNED_SUBTRACTION,REAL_AS_FLOAT,TRADITIONAL,ONLY_FULL_GROUP_BY,PAD_CHAR_TO_FULL_LENGTH'`,
	},
	"old_mode":                       {`'ZERO_DATE_TIME_CAST'`},
	"time_zone":                      {`'+09:00'`},
	"character_set_client":           {"swe7"},
	"character_set_connection":       {"swe7"},
	"character_set_results":          {"swe7"},
	"character_set_server":           {"swe7"},
	"character_set_database":         {"swe7"},
	"character_set_filesystem":       {"latin1"},
	"collation_connection":           {"latin1_german1_ci"},
	"collation_server":               {"latin1_german1_ci"},
	"collation_database":             {"latin1_german1_ci"},
	"default_collation_for_utf8mb4":  {"utf8mb4_general_ci"},
	"lc_time_names":                  {`'de_DE'`},
	"lc_messages":                    {`'de_DE'`},
	"default_regex_flags":            {`'EXTENDED,MULTILINE'`},
	"default_storage_engine":         {"MEMORY"},
	"storage_engine":                 {"MEMORY"},
	"system_versioning_asof":         {`'2001-01-01'`},
	"session_track_system_variables": {`'*'`},
	"block_encryption_mode":          {`'aes-256-cbc'`},
}

// takesTheServerAway are limits below which nothing works for anybody: what meets them is an error,
// and never another answer.
var takesTheServerAway = map[string]bool{
	"max_user_connections": true, "max_allowed_packet": true, "max_session_mem_used": true,
	"connection_memory_limit": true,
	"tmp_disk_table_size":     true, "sort_buffer_size": true, "parser_max_mem_size": true, "net_buffer_length": true,
	"default_table_encryption": true, "max_heap_table_size": true, "tmp_memory_table_size": true,
}

// hangsUp are limits in which a busy machine must still have said something, of which the lowest is a second.
var hangsUp = map[string]bool{
	"interactive_timeout": true, "net_read_timeout": true, "net_write_timeout": true, "wait_timeout": true,
}

// reachesUs are the variables that our sessions take over, by why they change neither what a
// statement of ours means, nor which rows it sees, nor whether it is committed.
var reachesUs = because(map[string]string{
	"only how fast something is done, and in which memory": `
		analyze_max_length analyze_sample_percentage aria_sort_buffer_size connection_memory_chunk_size
		eq_range_index_dive_limit expensive_subquery_limit in_predicate_conversion_threshold innodb_ddl_buffer_size
		innodb_ddl_threads innodb_parallel_read_threads join_buffer_size join_buffer_space_limit join_cache_level
		max_delayed_threads max_insert_delayed_threads max_length_for_sort_data max_rowid_filter_size
		max_seeks_for_key max_tmp_tables mrr_buffer_size myisam_sort_buffer_size
		optimizer_adjust_secondary_key_costs optimizer_extra_pruning_depth optimizer_max_sel_arg_weight
		optimizer_max_sel_args optimizer_max_subgraph_pairs optimizer_prune_level optimizer_search_depth
		optimizer_selectivity_sampling_limit optimizer_switch optimizer_use_condition_selectivity
		preload_buffer_size query_alloc_block_size query_prealloc_size range_alloc_block_size
		range_optimizer_max_mem_size read_buffer_size read_rnd_buffer_size rowid_merge_buff_size
		secondary_engine_cost_threshold set_operations_buffer_size sort_buffer_size sql_buffer_result
		thread_pool_priority tmp_table_size transaction_alloc_block_size transaction_prealloc_size use_stat_tables
		big_tables internal_tmp_mem_storage_engine default_tmp_storage_engine innodb_tmpdir aria_repair_threads
		myisam_repair_threads low_priority_updates optimizer_join_limit_pref_ratio bulk_insert_buffer_size`,
	"what is logged, traced, replicated and told about a statement": `
		binlog_alter_two_phase binlog_annotate_row_events binlog_direct_non_transactional_updates binlog_row_image
		binlog_row_value_options binlog_rows_query_log_events binlog_transaction_compression
		binlog_transaction_compression_level_zstd end_markers_in_json explain_format explain_json_format_version
		lc_messages log_disabled_statements log_queries_not_using_indexes log_slow_admin_statements
		log_slow_disabled_statements log_slow_filter log_slow_max_warnings log_slow_min_examined_row_limit
		log_slow_query log_slow_query_time log_slow_rate_limit log_slow_slave_statements log_slow_verbosity
		log_warnings long_query_time max_error_count min_examined_row_limit note_verbosity optimizer_trace
		optimizer_trace_features optimizer_trace_limit optimizer_trace_max_mem_size optimizer_trace_offset
		profiling profiling_history_size progress_report_time session_track_gtids session_track_schema
		session_track_state_change session_track_system_variables session_track_transaction_info slow_query_log
		sql_log_off sql_notes sql_warnings gtid_domain_id server_id
		global_connection_memory_tracking enable_secondary_engine_statistics print_identified_with_as_hex
		show_create_table_verbosity terminology_use_previous`,
	"asked for by the engine before anything is deleted, which waits": `binlog_format`,
	"how long the server waits for us; a connection that went away is opened again": `
		idle_readonly_transaction_timeout idle_transaction_timeout idle_write_transaction_timeout
		interactive_timeout net_read_timeout net_retry_count net_write_timeout wait_timeout
		deadlock_search_depth_long deadlock_search_depth_short deadlock_timeout_long deadlock_timeout_short
		wsrep_retry_autocommit`,
	"what a new table or schema is made with: the catalog's say it all": `
		character_set_server collation_database character_set_database collation_server
		column_compression_threshold column_compression_zlib_level column_compression_zlib_strategy
		column_compression_zlib_wrap default_collation_for_utf8mb4 default_storage_engine enforce_storage_engine
		explicit_defaults_for_timestamp external_table_secondary_storage_engine external_table_storage_engine
		innodb_compression_default innodb_default_encryption_key_id innodb_strict_mode keep_files_on_create
		old_alter_table restrict_fk_on_non_standard_key sql_generate_invisible_primary_key sql_require_primary_key
		storage_engine`,
	"of things that no statement of ours has: other engines, full text, versions, recursion, files, passwords, views": `
		aria_stats_method auto_increment_increment auto_increment_offset block_encryption_mode
		character_set_filesystem cte_max_recursion_depth enable_cascade_triggers generated_random_password_length
		histogram_generation_max_mem_size histogram_size histogram_type innodb_ft_enable_stopword
		innodb_ft_user_stopword_table innodb_table_locks max_points_in_geometry max_recursive_iterations
		max_relay_log_size max_sp_recursion_depth myisam_stats_method old old_passwords parser_max_mem_size
		query_cache_strip_comments query_cache_wlock_invalidate select_into_buffer_size select_into_disk_sync
		select_into_disk_sync_delay sql_slave_skip_counter standard_compliant_cte system_versioning_alter_history
		system_versioning_asof system_versioning_insert_history updatable_views_with_limit
		windowing_use_high_precision xa_detach_on_prepare`,
	"sql_big_selects = 1 puts it out of force":                                `max_join_size`,
	"the catalog asks for rows of a table as a hint only; the engine sets it": `information_schema_stats_expiry`,
	"the catalog tries again (1020); the engine sets it":                      `innodb_snapshot_isolation`,
	"of a cluster: a node that is none of it takes no write of ours, and wsrep_sync_wait is set": `
		group_replication_consistency wsrep_causal_reads wsrep_dirty_reads wsrep_on wsrep_osu_method
		wsrep_trx_fragment_size wsrep_trx_fragment_unit`,
})

func because(reasons map[string]string) map[string]string {
	names := map[string]string{}
	for why, list := range reasons {
		for name := range strings.FieldsSeq(list) {
			names[name] = why
		}
	}
	return names
}
