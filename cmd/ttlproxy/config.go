package main

import (
	"context"
	"fmt"
	"io"
	"strings"
)

// printConfig is `ttlproxy config`: an example of the file with every key.
func printConfig(_ context.Context, w world, _ *options, _ []string) error {
	return writeExample(w.stdout)
}

// writeExample writes a file with every key and its explanation. All are commented out, so that the
// example as it is means the defaults.
func writeExample(w io.Writer) error {
	var b strings.Builder
	b.WriteString("# Configuration of ttlproxy, read with --config FILE. Flags and environment variables take " +
		"precedence over it.\n" +
		"# A line that begins with # is a comment; remove it to set the value.\n")
	rows := table()
	for _, group := range groups(rows) {
		heading := "\n# --- " + group + " ---\n"
		for _, o := range rows {
			if o.group != group || !o.accepts(fromFile) {
				continue
			}
			b.WriteString(heading)
			heading = ""
			fmt.Fprintf(&b, "\n%s\n#%s = %s\n", wrap(o.text+o.lasting(), "# ", 100), o.name, example(o))
		}
	}

	_, err := io.WriteString(w, b.String())
	return err
}

// example is the default in TOML; if there is none, something that shows the form.
func example(o option) string {
	s := o.fallback()
	if s == "" {
		s = map[string]string{
			"backend": "db1.example.com:3306", "engine-user": "ttlproxy",
			"engine-password-file": "/etc/ttlproxy/engine-password", "stop-file": "/run/ttlproxy/stop",
			"throttle-url":   "http://127.0.0.1:8080/may-delete",
			"throttle-query": "SELECT load / 0.8 FROM ops.load",
			"tls-cert":       "/etc/ttlproxy/cert.pem", "tls-key": "/etc/ttlproxy/key.pem",
			"tls-client-ca": "/etc/ttlproxy/clients-ca.pem", "rsa-key": "/etc/ttlproxy/private_key.pem",
			"proxy-networks": "10.0.0.0/8",
			"backend-tls-ca": "/etc/ttlproxy/servers-ca.pem", "backend-tls-cert": "/etc/ttlproxy/client.pem",
			"backend-tls-key": "/etc/ttlproxy/client-key.pem",
			"state-dir":       "/var/lib/ttlproxy", "status": "127.0.0.1:4080",
			"status-token-file": "/etc/ttlproxy/status-token",
		}[o.name]
	}

	switch o.bind(defaults()).(type) {
	case list:
		return fmt.Sprintf("[%q]", s)
	case number:
		return s
	default:
		return fmt.Sprintf("%q", s)
	}
}
