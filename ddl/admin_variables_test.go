package ddl

import "testing"

// TestMayName: only a condition that is wholly read can be known to leave names out.
func TestMayName(t *testing.T) {
	t.Parallel()
	for where, want := range map[string]bool{
		"Variable_name = 'sql_mode'":                                      false,
		"`Variable_name`='sql_mode' AND Value <> ''":                      false,
		"variable_name = 'a' or VARIABLE_NAME = 'b' OR Variable_name='c'": false,
		"Variable_name IN ('a', 'b' ,'c') OR Variable_name in('d')":       false,
		"Variable_name = 'a' AND Variable_name = 'ttl_x'":                 false,
		"Variable_name = 'xttl_around'":                                   false,

		"Variable_name = 'TTL_around'":                       true,
		"Variable_name IN ('a', 'tidb_ttl_job_enable')":      true,
		"Variable_name = 'a' OR Variable_name = 'ttl_x'":     true,
		"Variable_name = 'a' OR Value = 'x'":                 true,
		"Variable_name <> 'a'":                               true,
		"Variable_name > 'ttk'":                              true,
		"NOT Variable_name = 'a'":                            true,
		"Variable_name NOT IN ('a')":                         true,
		"Variable_name IN ('t' 'tl_around')":                 true,
		"Variable_name = 'a' = 0":                            true,
		"Variable_name = 'a' XOR 1":                          true,
		"'a' = 'a'":                                          true,
		"Value = 'follow'":                                   true,
		"LOCATE('job_enable', Variable_name)":                true,
		"SUBSTR(Variable_name, 5) = 'around'":                true,
		"Variable_name = CONCAT('t', 'tl_around')":           true,
		"Variable_name = X'74746c5f61726f756e64'":            true,
		"Variable_name = 'a' -- or not\n OR 1":               true,
		"Variable_name = 'a' /* */ OR 1":                     true,
		"Variable_name IN (SELECT 'ttl_around')":             true,
		"Variable_name LIKE 'a%'":                            true,
		"Variable_name IN ('a') COLLATE utf8mb4_bin OR TRUE": true,
		"(Variable_name = 'a') IS NOT NULL":                  true,
		"Variable_name = 'a' AND":                            true,
	} {
		if got := (Filter{Where: where}).MayName("ttl_", "tidb_ttl_"); got != want {
			t.Errorf("WHERE %s: got %v, want %v", where, got, want)
		}
	}
}
