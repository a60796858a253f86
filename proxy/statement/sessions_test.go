package statement

import (
	"database/sql"
	"fmt"
	"testing"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
)

// For a number of the server's process list SHOW TTL SESSIONS says who is behind it, to those who
// may see it there.
func TestSessionsAreShownAsTheProcessListIs(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, db *sql.DB) {
		for _, q := range []string{
			"DROP USER IF EXISTS guest", "CREATE USER guest IDENTIFIED BY ''",
			fmt.Sprintf("GRANT ALL ON %s.* TO guest", b.schema),
		} {
			if _, err := b.db.ExecContext(t.Context(), q); err != nil {
				t.Fatal(err)
			}
		}

		account := b.server.Config(b.schema)
		account.User, account.Passwd = "guest", ""
		guest := b.client(t, account)
		id := func(db *sql.DB) (n uint32) {
			if err := db.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}

		ours, theirs := id(db), id(guest)
		for _, c := range []struct {
			who  string
			db   *sql.DB
			id   uint32
			want string
		}{
			{"everybody's", db, theirs, "guest"}, {"my own", guest, theirs, "guest"}, {"another's", guest, ours, ""},
		} {
			var user, client sql.NullString
			show := func() error {
				return c.db.QueryRowContext(t.Context(), fmt.Sprintf("SHOW TTL SESSIONS WHERE Connection_id = %d", c.id)).
					Scan(new(any), &user, &client, new(any), new(any), new(any), new(any), new(any), new(any), new(any))
			}
			err := show()
			for mysqltest.Unreadable(err) {
				err = show()
			}
			if (err == nil) != (c.want != "") || user.String != c.want {
				t.Errorf("%s: got %q, %v, want %q", c.who, user.String, err, c.want)
			}
			if c.want != "" && (len(client.String) < 10 || client.String[:10] != "127.0.0.1:") {
				t.Errorf("%s: got client %q", c.who, client.String)
			}
		}
	})
}
