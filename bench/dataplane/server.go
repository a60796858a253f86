package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"database/sql"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/sandbox"
)

// findServer takes the server that was named, or starts one, and fills it. It returns how to end
// it.
func (b *bench) findServer(ctx context.Context, dir string) (*target, func(), error) {
	direct := &target{name: "direct", address: b.server}
	end := func() {}
	config := mysql.NewConfig()
	config.User, config.Net, config.Addr = "root", "tcp", b.server

	if b.server == "" {
		cert, key, err := certificate(dir)
		if err != nil {
			return nil, nil, err
		}
		s, err := sandbox.Start(ctx, sandbox.Config{Args: []string{
			"--innodb-buffer-pool-size=512M",
			"--max-connections=3000",
			"--local-infile=1",
			"--ssl-cert=" + cert, "--ssl-key=" + key,
		}})
		if err != nil {
			return nil, nil, err
		}
		end = func() { s.Close() }
		config, direct.address, direct.pid = s.Config(""), s.Addr(), readPID(filepath.Join(s.Dir(), "server.pid"))
	}

	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, end, err
	}

	db := sql.OpenDB(connector)
	defer db.Close()

	err = prepare(func(q string) error {
		_, err := db.ExecContext(ctx, q)
		return err
	})
	return direct, end, err
}

// certificate makes one for the server and writes it to files.
func certificate(dir string) (cert, key string, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", err
	}

	t := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * time.Hour)}
	signed, err := x509.CreateCertificate(rand.Reader, t, t, &private.PublicKey, private)
	if err != nil {
		return "", "", err
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return "", "", err
	}

	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	write := func(file, kind string, b []byte) error {
		return os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}), 0o600)
	}
	return cert, key, errors.Join(write(cert, "CERTIFICATE", signed), write(key, "PRIVATE KEY", encoded))
}

// readPID reads the number that a server writes to a file.
func readPID(file string) int {
	b, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return 0
	}
	return pid
}
