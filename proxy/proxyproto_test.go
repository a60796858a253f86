package proxy

import (
	"bytes"
	"io"
	"net"
	"strings"
	"testing"
)

func addr(t *testing.T, s string) net.Addr {
	t.Helper()
	if s == "" {
		return &net.UnixAddr{Net: "unix", Name: "/run/ttlproxy.sock"}
	}
	a, err := net.ResolveTCPAddr("tcp", s)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// What is written can be read, in both versions and families, and not one byte behind it is read.
func TestHeaderRoundTrip(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ client, listener, want string }{
		{"192.0.2.7:41000", "198.51.100.1:3306", "192.0.2.7:41000"},
		{"[2001:db8::7]:41000", "[2001:db8::1]:3306", "[2001:db8::7]:41000"},
		{"192.0.2.7:41000", "[2001:db8::1]:3306", "192.0.2.7:41000"},
		{"[fe80::1%lo]:41000", "[fe80::2%lo]:3306", "[fe80::1]:41000"},
		{"", "198.51.100.1:3306", ""},
	} {
		for _, v := range []headerVersion{1, 2} {
			r := bytes.NewReader(append(v.header(addr(t, c.client), addr(t, c.listener)), "login"...))
			got, err := readHeader(r)
			if err != nil {
				t.Errorf("v%d, client %s: %v", v, c.client, err)
				continue
			}
			if got == nil && c.want != "" || got != nil && unmapped(got) != c.want {
				t.Errorf("v%d, client %s: got %v, want %v", v, c.client, got, c.want)
			}
			if rest, _ := io.ReadAll(r); string(rest) != "login" {
				t.Errorf("v%d: left %q, want %q", v, rest, "login")
			}
		}
	}
}

func unmapped(a net.Addr) string {
	p, _ := addrPort(a)
	return p.String()
}

func TestHeaderVectors(t *testing.T) {
	t.Parallel()
	// with a TLV
	v2 := headerSignature + "\x21\x11\x00\x0f" + "\x7f\x00\x00\x01\x7f\x00\x00\x02\x13\x88\x0c\xea" + "\x04\x00\x00"
	for _, c := range []struct{ name, in, want string }{
		{"v1", "PROXY TCP4 127.0.0.1 127.0.0.2 5000 3306\r\n", "127.0.0.1:5000"},
		{"v1 unknown with addresses", "PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n", ""},
		{"v2 with more behind the addresses", v2, "127.0.0.1:5000"},
		{"v2 local with addresses", headerSignature + "\x20\x11\x00\x0c" + strings.Repeat("\x01", 12), ""},
		{"v2 unix", headerSignature + "\x21\x31\x00\xd8" + strings.Repeat("x", 216), ""},
	} {
		got, err := readHeader(strings.NewReader(c.in))
		if err != nil || got == nil && c.want != "" || got != nil && got.String() != c.want {
			t.Errorf("%s: got %v, %v, want %q", c.name, got, err, c.want)
		}
	}
}

func TestHeaderRefused(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]string{
		"nothing":           "",
		"a login":           "\x20\x00\x00\x01\x8d\xae\xff\x19\x00\x00\x00\x01\xff",
		"cut":               "PROXY TCP4 127.0.0.1",
		"line without end":  "PROXY TCP4 " + strings.Repeat("1", 200),
		"port out of range": "PROXY TCP4 127.0.0.1 127.0.0.2 70000 3306\r\n",
		"no ports":          "PROXY TCP4 127.0.0.1 127.0.0.2\r\n",
		"v2 cut":            headerSignature + "\x21\x11\x00\x0c\x7f",
		"v2 too short":      headerSignature + "\x21\x21\x00\x0c" + strings.Repeat("\x01", 12),
		"v2 too long":       headerSignature + "\x21\x11\xff\xff",
		"version 3":         headerSignature + "\x31\x11\x00\x00",
	} {
		if got, err := readHeader(strings.NewReader(in)); err == nil {
			t.Errorf("%s: got %v, want an error", name, got)
		}
	}
}

func TestNetworks(t *testing.T) {
	t.Parallel()
	n, err := parseNetworks([]string{"10.0.0.0/8", "192.0.2.1", "2001:db8::/32"})
	if err != nil {
		t.Fatal(err)
	}

	for a, want := range map[string]bool{
		"10.1.2.3:1": true, "11.1.2.3:1": false, "192.0.2.1:1": true, "192.0.2.2:1": false,
		"[2001:db8::9]:1": true, "[2001:db9::9]:1": false, "[::ffff:10.0.0.1]:1": true, "": false,
	} {
		if got := n.contain(addr(t, a)); got != want {
			t.Errorf("%q: got %v, want %v", a, got, want)
		}
	}

	if _, err := parseNetworks([]string{"lan"}); err == nil {
		t.Error("lan was taken for a network")
	}
}

func FuzzReadHeader(f *testing.F) {
	f.Add([]byte("PROXY TCP4 127.0.0.1 127.0.0.2 5000 3306\r\n"))
	f.Add(headerVersion(2).header(&net.TCPAddr{IP: net.IPv4(1, 2, 3, 4), Port: 5},
		&net.TCPAddr{IP: net.IPv6loopback, Port: 6}))
	f.Fuzz(func(t *testing.T, in []byte) {
		a, err := readHeader(bytes.NewReader(in))
		if err != nil || a == nil {
			return
		}

		// An address that was read is one that can be written again.
		again, err := readHeader(bytes.NewReader(headerVersion(2).header(a, a)))
		if err != nil || again.String() != unmapped(a) {
			t.Fatalf("got %v, %v, want %v", again, err, unmapped(a))
		}
	})
}
