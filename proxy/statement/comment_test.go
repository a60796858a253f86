package statement

import "testing"

// skippedForms are the heads of comments whose body a server does not run.
func (t *theatre) skippedForms() []string {
	forms := []string{"/*!99999 ", "/*!199999 ", "/*M!199999 ", "/*T! ", "/*T![ttl] "}
	if t.server.MariaDB() {
		return append(forms, "/*!80000 ")
	}
	return append(forms, "/*M! ")
}

// What the server skips is not executed, wherever it stands, and what it runs is ours to decide on,
// whatever stands in front.
func TestSkippedCommentsStaySkipped(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.db.SetMaxOpenConns(1)
		const created = " (id INT PRIMARY KEY, created DATETIME)"
		t.exec("CREATE TABLE keep"+created, "CREATE TABLE t"+hourlyTable)
		off := "armed created 10 HOUR off 24h"

		for _, form := range t.skippedForms() {
			t.exec(form+"DROP TABLE keep; */ ALTER TABLE t COMMENT 'y'",
				form+"DROP TABLE keep */ ALTER TABLE t TTL_ENABLE='OFF'")
			t.wantPolicy("t", off)
			t.fails(1064, form+"DROP TABLE keep -- only on newer servers */; ALTER TABLE t TTL_ENABLE='ON'")
			t.fails(1064, "ALTER TABLE t TTL_ENABLE='ON' "+form+"DROP TABLE keep; ")
			t.fails(1064, "ALTER TABLE t "+form+"TTL_ENABLE='ON'")
			t.wantPolicy("t", off)
			t.exec("ALTER TABLE t COMMENT 'z'; "+form+"DROP TABLE keep */",
				"DO 1 "+form+"; DROP TABLE keep */; ALTER TABLE t COMMENT 'y'")

			t.exec(form+"SELECT */ PREPARE s FROM 'ALTER TABLE t TTL_ENABLE=''ON'''",
				form+"SELECT */ EXECUTE s", form+"SELECT */ DEALLOCATE PREPARE s")
			t.wantPolicy("t", hourly)
			t.exec(form+"SELECT */ CREATE TABLE gone"+hourlyTable, form+"SELECT */ DROP TABLE gone")
			t.wantPolicy("gone", "")

			if t.count("SHOW TABLES LIKE 'keep'") != 1 {
				t.Fatalf("%s: the body of a comment that the server skips was executed", form)
			}
		}

		t.fails(1064, "/*!50000 TRUNCATE TABLE t; ALTER TABLE t TTL_ENABLE='OFF' */")
		t.fails(1064, "DO 1; ; ALTER TABLE t TTL_ENABLE='OFF'")
		t.wantPolicy("t", hourly)
	})
}
