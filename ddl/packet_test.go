package ddl

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
)

// packets are read in one way only by the servers, and easily in others: what a skipped comment
// hides stays hidden when the statement around it is sent alone, and a packet ends where the server
// refuses it.
var packets = []string{
	"/*!99999 SELECT 1; */ SELECT 2", "/*!199999 SELECT 1; */ SELECT 2", "/*!99999 SELECT 1 */; SELECT 2",
	"/*!99999 SELECT 1 -- later */; SELECT 2",
	"SELECT 1; /*!99999 SELECT 2 */", "SELECT 1; /*!99999 SELECT 2 */;", "SELECT 1; /*!99999 SELECT 2 */ SELECT 3",
	"SELECT 1 /*!99999 ; SELECT 2 */ ; SELECT 3",
	"/*!50000 SELECT 1; SELECT 2 */", "/*!50000 SELECT 1; SELECT 2", "/*!50000 SELECT 1; */ SELECT 2",
	"/*!50000 SELECT 1 */; SELECT 2",
	"/*!50000 SELECT 1 /*!99999 , 2 */ */; SELECT 3", "/*!50000 SELECT 1 /*!50000 , 2 */ , 3 */*!99999 4; SELECT 5 */",
	"/*!99999 SELECT 1 /* ; SELECT 2 */ ; SELECT 3 */ SELECT 4",
	"/*!99999 SELECT 1 /*! ; SELECT 2 */ ; SELECT 3 */ SELECT 4",
	"/*!80000 SELECT 1; */ SELECT 2", "/*!50700 SELECT 1 */; SELECT 2", "/*!100000 SELECT 1 */; SELECT 2",
	"/*!100000SELECT 1 */; SELECT 2",
	"/*!1000001 SELECT 1 */; SELECT 2", "SELECT /*!500001; SELECT 2 */", "SELECT 1/*!500000 */; SELECT 2",
	"SELECT 1 /*!050000 , 2 */; SELECT 3",
	"/*M! SELECT 1 */; SELECT 2", "/*M!100000 SELECT 1; */ SELECT 2", "/*M!999999 SELECT 1; */ SELECT 2",
	"/*T! SELECT 1; */ SELECT 2", "/*T![ttl] SELECT 1 */; SELECT 2",
	"SELECT 1 /*T![ttl] ; SELECT 2", "SELECT 1 /*!99999 ; SELECT 2", "SELECT 1; /*! SELECT 2", "SELECT 1; ; SELECT 2",
	"; SELECT 1", "SELECT 1;;", "SELECT 1; ; /*!99999 SELECT 2 */",
	"SELECT 1; -- x", "SELECT 1 # ;\n; SELECT 2", "SELECT '/*!99999'; SELECT '*/'",
	"/*!99999 ' */ SELECT 1; SELECT '2'", "/*!99999 '*/ SELECT 1 -- '",
}

// TestServersAgreeOnPackets sends packets whole, and then their statements one by one as we forward
// them: the answers must be the same, up to the first error.
func TestServersAgreeOnPackets(t *testing.T) {
	t.Parallel()
	pieces := []string{
		"SELECT 1", "SELECT 2", ", 3", ";", ";", " ", "/*!50000 ", "/*!99999 ", "/*!99999", "/*!100000 ", "/*!100000",
		"/*!199999 ", "/*!1000001", "/*M! ", "/*M!199999 ",
		"/*! ", "/* ", "/*T! ", "/*T![ttl] ", "*/", "*/", "*/", "'", "-- ", "\n",
	}
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		config := s.Config("")
		config.MultiStatements = true
		c, err := mysqltest.Open(t, config).Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()

		var version string
		if err := c.QueryRowContext(t.Context(), "SELECT VERSION()").Scan(&version); err != nil {
			t.Fatal(err)
		}

		mode := Mode{MariaDB: s.MariaDB(), Version: versionOf(version), Charset: "utf8mb4"}

		random := rand.New(rand.NewPCG(7, 8))
		all := packets
		for range 1500 {
			all = append(all, "SELECT 0; "+soup(random, pieces, 2+random.IntN(12)))
		}

		answered := 0
		for _, packet := range all {
			want, refused := results(t.Context(), c, packet)
			got := ""
			for _, st := range Parse(packet, mode) {
				more, err := results(t.Context(), c, st.Forward())
				if got += more; err != nil {
					break
				}
			}

			if got != want {
				t.Errorf("%q: whole it answers %q, %v, and in parts %q", packet, want, refused, got)
			}
			if refused == nil {
				answered++
			}
		}

		if answered < 100 {
			t.Errorf("only %d packets were answered without an error: the test tests little", answered)
		}
	})
}

// results are the values of all result sets of a text up to the first error.
func results(ctx context.Context, c *sql.Conn, text string) (string, error) {
	rows, err := c.QueryContext(ctx, text)
	if err != nil {
		return "", err
	}
	defer rows.Close()

	var b strings.Builder
	for {
		columns, err := rows.Columns()
		if err != nil {
			return b.String(), err
		}

		for rows.Next() {
			values := make([]any, len(columns))
			for i := range values {
				values[i] = new(sql.NullString)
			}

			if err := rows.Scan(values...); err != nil {
				return b.String(), err
			}

			for _, v := range values {
				fmt.Fprintf(&b, "%s ", v.(*sql.NullString).String)
			}

			b.WriteString("| ")
		}

		if !rows.NextResultSet() {
			return b.String(), rows.Err()
		}
	}
}
