package setting

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/ddl"
)

func TestDefaultsAreValid(t *testing.T) {
	t.Parallel()
	for _, s := range All() {
		stored, warning, refusal := s.Check(s.Default, time.UTC)
		if stored != s.Default || warning != nil || refusal != nil {
			t.Errorf("%s: got %q, %v, %v for its default %q", s.Name, stored, warning, refusal, s.Default)
		}
		if s.Text == "" || s.Scope == "" || s.Name != strings.ToLower(s.Name) {
			t.Errorf("%s: incomplete row %+v", s.Name, s)
		}
	}
}

// TestValueThatIsNotUnderstood: a value that Check would have refused or changed is never taken for
// the default without a word.
func TestValueThatIsNotUnderstood(t *testing.T) {
	t.Parallel()
	for _, s := range All() {
		r := NewReading(1)
		r.Take(s.Name, s.Default)
		if why := r.Unread(); why != "" {
			t.Errorf("%s with its default: got %q", s.Name, why)
		}

		r.Take(s.Name, "as the moon goes")
		if why := r.Unread(); !strings.Contains(why, s.Name+" has the value 'as the moon goes'") {
			t.Errorf("%s: got %q", s.Name, why)
		}
		if shown := r.Shown()[s.Name]; shown != "as the moon goes" || r.Values[s.Name] != s.Default {
			t.Errorf("%s is shown as %q, and as %q to those who go by it", s.Name, shown, r.Values[s.Name])
		}
	}

	r := NewReading(1)
	r.Take(BatchTargetMS, "-1")
	r.Take("ttl_of_another_version", "?")
	if why := r.Unread(); !strings.Contains(why, BatchTargetMS) {
		t.Errorf("a number out of range: got %q", why)
	}
}

// TestWindowThatIsNeverClosed is none: by default there is one from the first minute of the day to the last.
func TestWindowThatIsNeverClosed(t *testing.T) {
	t.Parallel()
	if w := Defaults().Window(); w != nil {
		t.Errorf("by default there is a window: %v", w)
	}
	for _, c := range []struct {
		start, end string
		closed     time.Duration
	}{
		{"00:00 +0200", "23:59 +0200", 0},
		{"12:00 +0000", "11:59 +0000", 0},
		{"00:00 +0000", "23:58 +0000", time.Minute},
		{"22:00 +0000", "05:59 +0000", 16 * time.Hour},
	} {
		w := Values{WindowStart: c.start, WindowEnd: c.end}.Window()
		switch {
		case w == nil && c.closed > 0:
			t.Errorf("%s to %s: there is no window", c.start, c.end)
		case w != nil && w.Closed() != c.closed || w != nil && c.closed == 0:
			t.Errorf("%s to %s: closed for %s, want %s", c.start, c.end, w.Closed(), c.closed)
		}
	}
}

func TestSettingIsFoundByBothNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"ttl_job_enable": JobEnable, "TIDB_TTL_Job_Enable": JobEnable,
		"ttl_brake_rows": BrakeRows, "tidb_ttl_brake_rows": "", "": "",
	} {
		if got, found := Find(name); got.Name != want || found != (want != "") {
			t.Errorf("%q: got %q, want %q", name, got.Name, want)
		}
	}
}

func TestCheckFollowsTiDBAndMySQL(t *testing.T) {
	t.Parallel()
	berlin := time.FixedZone("", 2*60*60)
	for _, c := range []struct {
		name, value, want string
		warning, refusal  uint16
	}{
		{JobEnable, "off", "OFF", 0, 0},
		{JobEnable, "1", "ON", 0, 0},
		{JobEnable, "maybe", "", 0, 1231},
		{ScanBatchSize, "0", "1", 1292, 0},
		{ScanBatchSize, "99999", "10240", 1292, 0},
		{ScanBatchSize, "many", "", 0, 1232},
		{ScanBatchSize, "1.5", "", 0, 1232},
		{DeleteRateLimit, "9223372036854775808", "9223372036854775807", 1292, 0},
		{RunningTasks, "-1", "-1", 0, 0},
		{RunningTasks, "0", "1", 1292, 0},
		{RunningTasks, "-2", "1", 1292, 0},
		{RunningTasks, "257", "256", 1292, 0},
		{WindowStart, "1:05", "01:05 +0200", 0, 0},
		{WindowStart, "23:10 -0330", "23:10 -0330", 0, 0},
		{WindowEnd, "25:00", "", 0, 1231},
		{Restore, "ARM", "arm", 0, 0},
		{Restore, "never", "", 0, 1231},
		{StaleHold, "0s", "1s", 1292, 0},
		{StaleHold, "1d12h", "1d12h", 0, 0},
		{StaleHold, "soon", "", 0, 1231},
		{StaleHold, strings.Repeat("0", 1022) + "1d", strings.Repeat("0", 1022) + "1d", 0, 0},
		{StaleHold, strings.Repeat("0", 1023) + "1d", "", 0, 1231},
		{StaleHold, "", "", 0, 1231},
		{JobTimeout, "", "", 0, 1231},
		{DefaultJobInterval, "", "", 0, 1231},
		{DefaultJobInterval, " ", "", 0, 1231},
		{ThrottleReplicaLag, "", "", 0, 1231},
		{ThrottleThreads, "", "", 0, 1231},
		{ThrottleThreads, "abc", "", 0, 1231},
		{BrakeRows, "1e3", "", 0, 1231},
		{PartitionLockWait, "0s", "1s", 1292, 0},
		{PartitionLockWait, "5s", "5s", 0, 0},
		{PartitionLockWait, "1d", "5s", 1292, 0},
		{DefaultTimeZone, "Europe/Berlin", "Europe/Berlin", 0, 0},
		{DefaultTimeZone, "+05:30", "+05:30", 0, 0},
		{DefaultTimeZone, "CEST", "", 0, 1231},
		{DateFloor, "2001-02-30", "", 0, 1231},
		{HistoryDays, "0", "1", 1292, 0},
		{RateSchedule, "sat-sun 20000; 1000", "sat-sun 20000; 1000", 0, 0},
		{RateSchedule, " ", "", 0, 0},
		{RateSchedule, "1000; sat fast", "", 0, 1231},
		{RateSchedule, "1000; zone Mars/Base", "", 0, 1231},
		{RateSchedule, strings.Repeat(" ", 1021) + "1000", "", 0, 1231},
		{ThrottleReplicas, "db2, db3:3307,,", "db2:3306, db3:3307", 0, 0},
		{ThrottleReplicas, "[::1], [fe80::1%eth0]:3307", "[::1]:3306, [fe80::1%eth0]:3307", 0, 0},
		{ThrottleReplicas, strings.Repeat("db2,", 93), strings.TrimSuffix(strings.Repeat("db2:3306, ", 93), ", "), 0, 0},
		{ThrottleReplicas, strings.Repeat("db2,", 103), "", 0, 1231},
		{ThrottleReplicas, "db2::3306", "", 0, 1231},
		{ThrottleReplicas, "db2:3306:3307", "", 0, 1231},
		{ThrottleReplicas, "db2:+3306", "", 0, 1231},
		{ThrottleReplicas, "db2:0", "", 0, 1231},
		{ThrottleReplicas, "db2:", "", 0, 1231},
		{ThrottleReplicas, ":3306", "", 0, 1231},
		{ThrottleReplicas, "db2:65536", "", 0, 1231},
		{ThrottleReplicas, "::::", "", 0, 1231},
		{ThrottleReplicas, "%", "", 0, 1231},
		{ThrottleReplicas, "db2%eth0", "", 0, 1231},
		{ThrottleReplicas, "[::::]", "", 0, 1231},
		{ThrottleReplicas, "[db2]:3306", "", 0, 1231},
		{ThrottleReplicas, "[::1", "", 0, 1231},
		{ThrottleReplicas, "[::1]3306", "", 0, 1231},
		{ThrottleReplicas, "[fe80::1%a b]", "", 0, 1231},
	} {
		s, _ := Find(c.name)
		got, warning, refusal := s.Check(c.value, berlin)
		if got != c.want || code(warning) != c.warning || code(refusal) != c.refusal {
			t.Errorf("%s = %s: got %q, warning %v, refusal %v, want %q, %d, %d",
				c.name, c.value, got, warning, refusal, c.want, c.warning, c.refusal)
		}
	}
}

// TestNonsenseIsRefusedWithWhatIsTaken: no setting takes anything for a value that it is not, and the error says what it
// takes. TiDB's numbers say what they do there.
func TestNonsenseIsRefusedWithWhatIsTaken(t *testing.T) {
	t.Parallel()
	for _, s := range All() {
		for _, nonsense := range []string{"", "abc?", "1 2"} {
			if nonsense == "" && slices.Contains([]Kind{KindZone, KindRates, KindHosts}, s.Kind) {
				continue // for none
			}
			want, says := uint16(1231), "Variable '"+s.Name+"' can't be set to the value of '"+nonsense+"': "
			if s.Kind == KindInt && s.Alias != "" {
				want, says = 1232, "Incorrect argument type to variable '"+s.Name+"'"
			}
			if got, warning, refusal := s.Check(nonsense, time.UTC); code(refusal) != want || warning != nil || got != "" ||
				!strings.HasPrefix(refusal.Message, says) {
				t.Errorf("%s = '%s': got %q, warning %v, refusal %v, want %d", s.Name, nonsense, got, warning, refusal, want)
			}
		}
	}
}

// TestNothingOutOfRangeEndsAProtection: where an end of the range means that there is no limit, or never, it takes
// exactly that number. What TiDB has as well is clamped, as there.
func TestNothingOutOfRangeEndsAProtection(t *testing.T) {
	t.Parallel()
	refused := map[string]bool{}
	for _, s := range All() {
		if s.Kind != KindInt {
			continue
		}
		for _, c := range []struct {
			value string
			end   int64
		}{{"-1", s.Min}, {"-9223372036854775809", s.Min}, {"101", s.Max}} {
			got, warning, refusal := s.Check(c.value, time.UTC)
			switch {
			case c.value == "101" && s.Max != 100 || s.Name == RunningTasks:
			case s.Alias == "" && c.end%100 == 0:
				refused[s.Name] = true
				if code(refusal) != 1231 || got != "" || !strings.Contains(refusal.Message, "it takes a whole number, 0 ") {
					t.Errorf("%s = %s: got %q, warning %v, refusal %v", s.Name, c.value, got, warning, refusal)
				}
			case code(warning) != 1292 || got != strconv.FormatInt(c.end, 10):
				t.Errorf("%s = %s: got %q, warning %v, refusal %v", s.Name, c.value, got, warning, refusal)
			}
		}
	}
	for _, name := range []string{
		ThrottleThreads, ThrottleReplicaLag, ThrottleFloor, ThrottleApplication, BrakeMaxRows, BrakeRows, BrakePercent,
		BrakeFactor, DeleteRowsLimit, ScanRateLimit, ClusterRowsLimit,
	} {
		if !refused[name] {
			t.Errorf("%s is not among those that refuse", name)
		}
	}
}

func code(e *ddl.Error) uint16 {
	if e == nil {
		return 0
	}
	return e.Code
}
