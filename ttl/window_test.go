package ttl

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// TestWindowClosesOnTheServer: a window that closes between a look at the clock and the packet, however long that takes,
// while nobody ticks, keeps rows, partitions, and what they have become.
func TestWindowClosesOnTheServer(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		for i, how := range []string{"", ddl.PartitionDrop, ddl.PartitionExchange, ""} {
			hours, name := "12:00-13:00", how
			if i == 3 { // those are a Wednesday and a Friday
				hours, name = "wed 12:00-13:00; fri 09:00-13:00; sat-tue", "days"
			}
			t.Run(name, func(t *testing.T) {
				f := newFixture(t, cfg, 0)
				f.days()
				options := map[string]string{ddl.OptionWindow: hours}
				if how != "" {
					options[ddl.OptionPartition] = how
				}
				if how == ddl.PartitionExchange {
					options[ddl.OptionGrace] = "1h"
				}
				m := f.at(utc("05-12 13:00:59"))
				m.declare("UTC", "1h", options)
				m.workLater("05-12 13:01:00", how == "")
				if got := f.divided(); got != "1,2,3,4,5,6,7,8 in p0,p1,p2,p3,p4" {
					t.Errorf("%s is left", got)
				}
				if m.packets == 0 && how == "" {
					t.Error("no packet was sent")
				}

				m = f.at(utc("05-12 13:00:59"))
				m.pass()
				if got := f.divided(); how != "" && got != "5,8 in p0,p3,p4" {
					t.Errorf("within the window %s is left", got)
				}
				sides, left := f.sides(), f.divided()
				m = f.at(utc("05-14 13:00:59"))
				m.workLater("05-14 13:01:00", false)
				// An empty table against which the next one would be exchanged may be there, too.
				if got := f.sides(); !strings.HasPrefix(got, sides) || f.divided() != left {
					t.Errorf("%s and tables %s are left, of %s and %s", f.divided(), got, left, sides)
				}
			})
		}
	})
}

// workLater works for a while in sessions for which it is another moment than for the catalog when it is asked. The
// while begins with the first packet if there will be one.
func (m *moment) workLater(instant string, sends bool) {
	m.f.T.Helper()
	later := []string{fmt.Sprintf("SET timestamp = %d", utc(instant).Unix())}
	m.session.Close()
	m.engine.sessions.Setup = later
	m.session = m.engine.sessions.Session()
	m.mustTick()
	ctx, stop := context.WithCancel(m.f.T.Context())
	defer stop()
	over := time.AfterFunc(aWhile, stop)
	if before := m.engine.crew.BeforePacket; sends {
		over.Reset(mysqltest.Patience)
		m.engine.crew.BeforePacket = func() {
			if before(); m.packets == 1 {
				over.Reset(aWhile)
			}
		}
	}
	m.engine.crew.Work(ctx)
	m.mustTick()
	m.engine.leave(m.f.T.Context(), m.engine.node.Load())
}
