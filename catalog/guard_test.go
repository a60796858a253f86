package catalog

import "testing"

// TestGuardAlongAsksForApproval: a batch takes no rows along of a table whose policy waits for approval, even if the
// version is the one that it was planned with.
func TestGuardAlongAsksForApproval(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		p := b.declare(t, b.table(t, "a"))
		guard := "SELECT TRUE" + b.GuardAlong([]Table{p.Table}, []Policy{p})
		if b.scalar(t, guard) != 1 {
			t.Error("a policy that waits for nothing keeps rows")
		}
		b.exec(t, "UPDATE {policy} SET approval_required = TRUE")
		if b.scalar(t, guard) != 0 {
			t.Error("a policy that waits for approval lets rows go along")
		}
	})
}
