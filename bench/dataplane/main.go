package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"
)

func main() {
	var b bench
	flag.StringVar(&b.binary, "ttlproxy", "bin/ttlproxy", "the proxy to measure")
	flag.StringVar(&b.server, "server", "",
		"HOST:PORT of a server that root may log in to without a password; without it one is started")
	flag.IntVar(&b.rounds, "rounds", 5, "how often each target has its turn")
	flag.DurationVar(&b.turn, "turn", 2*time.Second, "how long a turn is")
	flag.IntVar(&b.idle, "idle", 1000, "how many idle sessions to measure memory with")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	b.out = os.Stdout
	err := b.run(ctx)
	stop()

	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// prepare makes the table, if it is not there, and an account without a password.
func prepare(query func(string) error) error {
	var values strings.Builder
	pad := strings.Repeat("x", rowSize)
	for i := range 1000 {
		if i > 0 {
			values.WriteByte(',')
		}
		fmt.Fprintf(&values, "('%s')", pad)
	}

	insert := "INSERT INTO " + schema + ".t (pad) VALUES " + values.String()
	statements := []string{
		"CREATE DATABASE IF NOT EXISTS " + schema,
		"CREATE USER IF NOT EXISTS '" + user + "'@'%'",
		"GRANT SELECT, INSERT ON " + schema + ".* TO '" + user + "'@'%'",
		"CREATE USER IF NOT EXISTS '" + service + "'@'%' IDENTIFIED BY '" + service + "'",
		"GRANT ALL ON *.* TO '" + service + "'@'%'",
		"DROP TABLE IF EXISTS " + schema + ".t",
		"CREATE TABLE " + schema + ".t (id INT AUTO_INCREMENT PRIMARY KEY, pad VARCHAR(250)) ENGINE=InnoDB",
	}

	for range rows / 1000 {
		statements = append(statements, insert)
	}

	for _, s := range statements {
		if err := query(s); err != nil {
			return err
		}
	}

	return nil
}
