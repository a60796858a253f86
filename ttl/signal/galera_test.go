package signal

import (
	"os"
	"strings"
	"testing"

	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/sandbox"
)

// TestGaleraSignals: a member that applies slowly is seen by its queue, and by the others by the time
// for which it makes them wait. The members are those that TTLPROXY_TEST_GALERA names
// (scripts/galera.sh).
func TestGaleraSignals(t *testing.T) {
	names := strings.Fields(os.Getenv("TTLPROXY_TEST_GALERA"))
	if testing.Short() || len(names) < 2 {
		t.Skip("needs a Galera cluster, named by TTLPROXY_TEST_GALERA: see scripts/galera.sh")
	}

	writer, slow := mysqltest.Named(t, sandbox.MariaDB, names[0]), mysqltest.Named(t, sandbox.MariaDB, names[1])
	b := &bed{T: t, server: writer, db: writer.Open(t, ""), schema: writer.Database(t), settings: setting.Defaults()}
	other := &bed{T: t, server: slow, db: slow.Open(t, ""), settings: setting.Defaults()}
	b.exec("CREATE TABLE "+b.schema+".t (id INT PRIMARY KEY, n INT)", "INSERT INTO "+b.schema+".t VALUES (1, 0)",
		"INSERT INTO "+b.schema+".t SELECT seq, 0 FROM "+b.schema+".seq_2_to_2000")

	f := &flowControl{}
	b.one(t, f, Look{})
	pass(t, 2*shortest)
	if r := b.one(t, f, Look{}); r.State != Measured || r.Pressure() > 1 {
		t.Errorf("at rest flow control says %v", r)
	}
	if r := other.one(t, receiveQueue{}, Look{}); r.State != Measured || r.Pressure() > 1 {
		t.Errorf("at rest the queue says %v", r)
	}

	other.settings[setting.ThrottleReceiveQueue] = "1"
	other.exec("SET GLOBAL wsrep_provider_options = 'gcs.fc_limit=2'")
	defer other.exec("SET GLOBAL wsrep_provider_options = 'gcs.fc_limit=16'")
	update := "UPDATE " + b.schema + ".t SET n = n + 1"
	until(t, "a queue", func() bool {
		b.exec(update)
		return other.one(t, receiveQueue{}, Look{}).Pressure() > 1
	})
	until(t, "flow control", func() bool {
		b.exec(update)
		return b.one(t, f, Look{}).Pressure() > 1
	})
}
