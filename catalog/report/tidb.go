package report

import (
	"encoding/json"
	"hash/crc32"
	"strconv"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// TiDB's tables, with its names and types. Our numbers of jobs, policies and nodes stand where it
// has its own.

// tidbInt is the type of a small number.
const tidbInt Type = "INT"

var tidbStatusColumns = []Column{
	{Name: "table_id", Type: Integer},
	{Name: "parent_table_id", Type: Integer},
	{Name: "table_statistics", Type: LongText},
	{Name: "last_job_id", Type: Name},
	{Name: "last_job_start_time", Type: Time},
	{Name: "last_job_finish_time", Type: Time},
	{Name: "last_job_ttl_expire", Type: Time},
	{Name: "last_job_summary", Type: LongText},
	{Name: "current_job_id", Type: Name},
	{Name: "current_job_owner_id", Type: Name},
	{Name: "current_job_owner_addr", Type: Text},
	{Name: "current_job_owner_hb_time", Type: Time},
	{Name: "current_job_start_time", Type: Time},
	{Name: "current_job_ttl_expire", Type: Time},
	{Name: "current_job_state", Type: LongText},
	{Name: "current_job_status", Type: Name},
	{Name: "current_job_status_update_time", Type: Time},
}

// TiDBTableStatus is mysql.tidb_ttl_table_status.
func TiDBTableStatus(s *Snapshot) List {
	l := List{Name: "tidb_ttl_table_status", Columns: tidbStatusColumns}
	for _, w := range s.Work() {
		row := []any{tidbTable(w.Policy.ID, w.Partition), int64(w.Policy.ID), nil}
		row = append(row, tidbLast(w.Last)...)
		l.add(w.Policy.Table, append(row, tidbCurrent(s, w.Job)...)...)
	}
	return l
}

func tidbLast(j *catalog.EndedJob) []any {
	if j == nil {
		return make([]any, 5)
	}
	return []any{tidbID(j.ID), j.CreatedAt, j.FinishedAt, j.Cutoff, tidbSummary(&j.Job)}
}

func tidbCurrent(s *Snapshot, j *catalog.Job) []any {
	if j == nil {
		return make([]any, 9)
	}
	id, address, beat := s.tidbOwner(j.Owner)
	return []any{tidbID(j.ID), id, address, beat, j.CreatedAt, j.Cutoff, orNull(j.Reason), string(j.State), j.StateAt}
}

// tidbOwner is a node as TiDB's tables name it.
func (s *Snapshot) tidbOwner(node uint64) (id, address, beat any) {
	for _, n := range s.Nodes {
		if n.ID == node {
			return tidbID(n.ID), n.Address, n.HeartbeatAt
		}
	}
	return nil, nil, nil
}

var tidbTaskColumns = []Column{
	{Name: "job_id", Type: Name},
	{Name: "table_id", Type: Integer},
	{Name: "scan_id", Type: tidbInt},
	{Name: "scan_range_start", Type: LongText, Secret: true, Raw: true},
	{Name: "scan_range_end", Type: LongText, Secret: true, Raw: true},
	{Name: "expire_time", Type: Time},
	{Name: "owner_id", Type: Name},
	{Name: "owner_addr", Type: Text},
	{Name: "owner_hb_time", Type: Time},
	{Name: "status", Type: Name},
	{Name: "status_update_time", Type: Time},
	{Name: "state", Type: LongText},
	{Name: "created_time", Type: Time},
}

// TiDBTask is mysql.tidb_ttl_task.
func TiDBTask(s *Snapshot, tasks []catalog.Task) List {
	l := List{Name: "tidb_ttl_task", Columns: tidbTaskColumns}
	byID := make(map[uint64]*catalog.Job, len(s.Jobs))
	for i := range s.Jobs {
		byID[s.Jobs[i].ID] = &s.Jobs[i]
	}

	for i := range tasks {
		t := &tasks[i]
		j := byID[t.JobID]
		if j == nil {
			continue
		}

		id, address, beat := s.tidbOwner(t.Owner)
		l.add(j.Table, tidbID(j.ID), tidbTable(j.PolicyID, j.Partition), int64(t.Seq), orNull(t.RangeStart),
			orNull(t.RangeEnd), j.Cutoff,
			id, address, beat, string(t.State), t.StateAt, tidbCounts(t.Counts, t.Error), j.CreatedAt)
	}

	return l
}

var tidbHistoryColumns = []Column{
	{Name: "job_id", Type: Name},
	{Name: "table_id", Type: Integer},
	{Name: "parent_table_id", Type: Integer},
	{Name: "table_schema", Type: Name},
	{Name: "table_name", Type: Name},
	{Name: "partition_name", Type: Name},
	{Name: "create_time", Type: Time},
	{Name: "finish_time", Type: Time},
	{Name: "ttl_expire", Type: Time},
	{Name: "summary_text", Type: LongText},
	{Name: "expired_rows", Type: Integer},
	{Name: "deleted_rows", Type: Integer},
	{Name: "error_delete_rows", Type: Integer},
	{Name: "status", Type: Name},
}

// TiDBHistory is mysql.tidb_ttl_job_history. Running jobs are in it, as in TiDB, but without a time
// of finishing.
func TiDBHistory(s *Snapshot, ended []catalog.EndedJob) List {
	l := List{Name: "tidb_ttl_job_history", Columns: tidbHistoryColumns}
	for i := range s.Jobs {
		l.add(s.Jobs[i].Table, tidbHistoryRow(&catalog.EndedJob{Job: s.Jobs[i]})...)
	}
	for i := range ended {
		l.add(ended[i].Table, tidbHistoryRow(&ended[i])...)
	}
	return l
}

func tidbHistoryRow(j *catalog.EndedJob) []any {
	c := j.Counts
	return []any{
		tidbID(j.ID), tidbTable(j.PolicyID, j.Partition), int64(j.PolicyID), j.Table.Schema, j.Table.Name,
		orNull(j.Partition),
		j.CreatedAt, moment(j.FinishedAt), j.Cutoff, tidbSummary(&j.Job), c.Deleted + c.Refreshed + c.Failed, c.Deleted,
		c.Failed, string(j.State),
	}
}

func tidbID(id uint64) string { return strconv.FormatUint(id, 10) }

// tidbTable numbers a table by its policy, and a partition by its name as well.
func tidbTable(policy uint64, partition string) int64 {
	if partition == "" {
		return int64(policy)
	}
	return int64(crc32.ChecksumIEEE([]byte(partition))>>1)<<32 | int64(policy)
}

// tidbSummary is a job's summary in TiDB's words. Rows that were refreshed meanwhile are not
// counted as deleted.
func tidbSummary(j *catalog.Job) string {
	c := j.Counts
	return tidbJSON(struct {
		TotalRows         uint64 `json:"total_rows"`
		SuccessRows       uint64 `json:"success_rows"`
		ErrorRows         uint64 `json:"error_rows"`
		TotalScanTask     int    `json:"total_scan_task"`
		ScheduledScanTask int    `json:"scheduled_scan_task"`
		FinishedScanTask  int    `json:"finished_scan_task"`
		ScanTaskErr       string `json:"scan_task_err,omitempty"`
	}{c.Deleted + c.Refreshed + c.Failed, c.Deleted, c.Failed, j.Tasks, j.Tasks, j.TasksFinished, j.Reason})
}

func tidbCounts(c catalog.Counts, fault string) string {
	return tidbJSON(struct {
		TotalRows   uint64 `json:"total_rows"`
		SuccessRows uint64 `json:"success_rows"`
		ErrorRows   uint64 `json:"error_rows"`
		ScanTaskErr string `json:"scan_task_err,omitempty"`
	}{c.Deleted + c.Refreshed + c.Failed, c.Deleted, c.Failed, fault})
}

func tidbJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "{}" // not reached: numbers and a text
	}
	return string(b)
}
