package sandbox

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"

	"github.com/go-sql-driver/mysql"
)

// Replicating are the arguments of a server that has a replica or is one. Each needs an id of its
// own.
func Replicating(flavour Flavour, id int) []string {
	args := []string{"--server-id=" + strconv.Itoa(id), "--report-host=127.0.0.1"}
	if flavour == MySQL {
		args = append(args, "--gtid-mode=ON", "--enforce-gtid-consistency=ON")
	}
	return args
}

// Follow makes the server a replica of source, from the beginning of its binary log. Both were
// started with the arguments of [Replicating]; the replica shows source its own port if it was
// started with --report-port.
func (s *Server) Follow(ctx context.Context, source *Server) error {
	point := fmt.Sprintf("CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = %d, MASTER_USER = 'root', "+
		"MASTER_USE_GTID = slave_pos, MASTER_CONNECT_RETRY = 1", source.Port())
	start := "START SLAVE"
	if s.Flavour == MySQL {
		point = fmt.Sprintf("CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = %d, "+
			"SOURCE_USER = 'root', SOURCE_AUTO_POSITION = 1, SOURCE_CONNECT_RETRY = 1", source.Port())
		start = "START REPLICA"
	}

	connector, err := mysql.NewConnector(s.Config(""))
	if err != nil {
		return err
	}

	db := sql.OpenDB(connector)
	defer db.Close()

	for _, statement := range []string{point, start} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}

	return nil
}
