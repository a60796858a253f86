package proxy

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/ttlproxy/ttlproxy/proxy/wire"
	"github.com/ttlproxy/ttlproxy/proxy/wire/wiretest"
)

// BenchmarkCompression is why compression is masked: what it would cost to carry a result that
// comes compressed from the server, or goes so to the client, besides carrying it. Each leg that is
// compressed adds one of the two, by zlib at the servers' default level.
func BenchmarkCompression(b *testing.B) {
	answer := hundredRows(b)
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	z.Write(answer)
	z.Close()

	b.Run("relayed", func(b *testing.B) {
		request, _ := wire.AppendPacket(nil, 0, command(wire.Query, "SELECT"))
		address, _ := proxyFor(b, wiretest.Echo(b, len(request), answer), Config{}, pass)
		b.SetBytes(int64(len(answer)))
		wiretest.Ask(b, address, request, answer)
	})
	b.Run("inflated", func(b *testing.B) {
		r, err := zlib.NewReader(bytes.NewReader(packed.Bytes()))
		if err != nil {
			b.Fatal(err)
		}

		b.SetBytes(int64(len(answer)))
		for b.Loop() {
			if err := r.(zlib.Resetter).Reset(bytes.NewReader(packed.Bytes()), nil); err != nil {
				b.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, r); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("deflated", func(b *testing.B) {
		b.SetBytes(int64(len(answer)))
		for b.Loop() {
			z.Reset(io.Discard)
			z.Write(answer)
			z.Close()
		}
	})
	b.Logf("%d bytes become %d", len(answer), packed.Len())
}

// hundredRows is a result as sysbench's tables give it: numbers in groups of eleven digits.
func hundredRows(tb testing.TB) []byte {
	tb.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	rs := wire.ResultSet{Columns: []wire.Column{wire.Text("id", 11), wire.Text("pad", 250)}}
	for i := range 100 {
		pad := ""
		for range 17 {
			pad += fmt.Sprintf("%011d-", random.Uint64N(1e11))
		}
		rs.Rows = append(rs.Rows, []any{fmt.Sprint(i), pad})
	}
	b, _, err := rs.Append(nil, 1, wire.TextRows, wiretest.Capabilities, wire.OK{Status: auto})
	if err != nil {
		tb.Fatal(err)
	}
	return b
}
