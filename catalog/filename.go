package catalog

import (
	"fmt"
	"strings"
)

// fileName spells an identifier the way InnoDB names files, and so its tables: letters of the alphabets below have short codes, other
// characters beyond ASCII, and punctuation, the number of the character.
func fileName(name string) string {
	var b strings.Builder
	for _, c := range name {
		if c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			b.WriteRune(c)
			continue
		}
		b.WriteByte('@')
		if code := shortCode(c); code != "" {
			b.WriteString(code)
			continue
		}
		fmt.Fprintf(&b, "%04x", c)
	}
	return b.String()
}

// shortCode returns the two bytes that stand for a letter in file names, or nothing.
func shortCode(c rune) string {
	for _, a := range alphabets {
		if n := 2 * int(c-a.first); n >= 0 && n < len(a.codes) && a.codes[n] != '.' {
			return a.codes[n : n+2]
		}
	}
	return ""
}

// alphabet holds the codes of letters that follow each other, two bytes each; dots stand for a character without one.
type alphabet struct {
	first rune
	codes string
}

// alphabets are the same on all servers: MariaDB tells them by CONVERT(… USING filename), which MySQL hides. The test compares
// with both.
//
//nolint:gochecknoglobals // a table
var alphabets = []alphabet{
	{0x00C0, "" +
		"0G0H0I0J0K0L0M0N0O0P0Q0R0S0T0U0V0W0X0Y0Z1G1H1I..1K1L1M1N1O1P1Q1j0g0h0i0j0k0l0m0n0o0p0q0r0s0t0u0v0w0x0y0z1g1h1i.." +
		"1k1l1m1n1o1p1q1r1S1s1T1t1U1u1V1v1W1w1X1x1Y1y1Z1z2G2g2H2h2I2i2J2j2K2k2L2l2M2m2N2n2O2o2P2p2Q2q2R2r2S2s2T2t2U2u2V2v" +
		"..2w2X2x2Y2y2Z2z3g3H3h3I3i3J3j3K3k3L3l3M3m3N3n3O3o3p3Q3q3R3r3S3s3T3t3U3u3V3v3W3w3X3x3Y3y3Z3z4G4g4H4h4I4i4J4j4K4k" +
		"4L4l4M4m4N4n4O4o4P4p4Q4q4R4r4S4s1R4T4t4U4u4V4v4wgaQfHahaIaiaRfJajaTfUfKakalaZbWfYfMamaJgMgnaSgRgOaoapaqaYgHhraKh" +
		"SasaTataUauaVhVavaYhwaxaYayaJiZazaLiMiGbgbHbhbTiIbibjbkbNbnbmb..........Ob..obPb..pbQb..qbRbrbSbsbTbtbUbubVbvbWb" +
		"wbXbxbYbybzbGcgcHchcIcicJcjcKckcLclcMcmcNcncOcocpcQc..qcRcrcNa..ScscTctcUcucVcvcWcwcXcxcYcycZczcGdgdHdhdIdidJdjd" +
		"KdkdLdldMdmdNdndOdodPdpdQdqdRdrdRasdTdtdUdudVdvdWdwdXdxdYdydZdzdGegeHeheiejekelemeneOePepePaQereseVi............" +
		"................nfofpfqfrfsftfufvfwfxfyfzfgghgigjgkglgmgngogpgqgrgsgtgugvgwgxgygzgghhhihjhkhlhmhnhohphqhrhshthuh" +
		"vhwhxhyhzhgihiiijikiliminioipiqirisitiuiviwixiyizigjhjijjjkjljmjnjojpjqjrjsjtjujvjwjxjyjzjgkhkik"},
	{0x0386, "" +
		"6G..6H6I6J..7S..7T7U5y6L7W6N6O6P6Q6R7X6T8W6V6W6X6Y6Z8I7H..8Y7K7L8H7N7O7P7Q7R6g6h6i6j6k6l6m6n6o6p6q6r6s6t6u6v6w6x" +
		"6y6z7g7h7i7j7k7l7m7n7o7p7q7r7s7t7u..7w7x7Y7Z8G8h8i8j..8k8L8l8M8m8N8n8O8o8P8p8Q8q8R8r8S8s8T8t8U8u8V8v8w8x8y8z..9g" +
		"9h..9i....9j9k9L9M9NS1T1U1V1W1X1Y1Z1G2H2I2J2K2L2M2N2G0H0I0J0K0L0M0N0O0P0Q0R0S0T0U0V0W0X0Y0Z0G1H1I1J1K1L1M1N1O1P1" +
		"Q1R1g0h0i0j0k0l0m0n0o0p0q0r0s0t0u0v0w0x0y0z0g1h1i1j1k1l1m1n1o1p1q1r1s1t1u1v1w1x1y1z1g2h2i2j2k2l2m2n2O2o2P2p2Q2q2" +
		"R2r2S2s2T2t2U2u2V2v2W2w2X2x2Y2y2Z2z2G3g3H3h3I3i3J3j3K3k3................M3m3N3n3O3o3P3p3Q3q3R3r3S3s3T3t3U3u3V3v3" +
		"W3w3X3x3Y3y3Z3z3G4g4H4h4I4i4J4j4K4k4L4l4M4m4N4n4O4o4P4p4Q4q4R4r4S4s4T4U4u4V4v4W4w4X4x4Y4y4Z4z4G5g5..I5i5J5j5K5k5" +
		"L5l5M5m5N5n5O5o5P5p5Q5q5R5r5S5s5T5t5U5u5V5v5W5w5X5x5Y5y5Z5z5G6g6H6h6I6i6............P6p6Q6q6R6r6S6s6T6t6U6u6V6v6" +
		"W6w6..................................................................H7I7J7K7L7M7N7O7P7Q7R7S7T7U7V7W7X7Y7Z7G8H8" +
		"I8J8K8L8M8N8O8P8Q8R8S8T8U8V8W8X8......................h7i7j7k7l7m7n7o7p7q7r7s7t7u7v7w7x7y7z7g8h8i8j8k8l8m8n8o8p8" +
		"q8r8s8t8u8v8w8x8"},
	{0x1E00, "" +
		"GlglHlhlIlilJljlKlklLlllMlmlNlnlOlolPlplQlqlRlrlSlslTltlUlulVlvlWlwlXlxlYlylZlzlGmgmHmhmImimJmjmKmkmLmlmMmmmNmnm" +
		"OmomPmpmQmqmRmrmSmsmTmtmUmumVmvmWmwmXmxmYmymZmzmGngnHnhnIninJnjnKnknLnlnMnmnNnnnGponPnpnQnqnRnrnSnsnTntnUnunVnvn" +
		"WnwnXnxnYnynZnznGogoHohoIoioJojoKokoLoloMomoNonoOoooPopoQoqoRoroSosoTotoUouovowoxoyozogp........LplpMpmpNpnpOpop" +
		"PpppQpqpRprpSpspTptpUpupVpvpWpwpXpxpYpypZpzpGqgqHqhqIqiqJqjqKqkqLqlqMqmqNqnqOqoqPqpqQqqqRqrqSqsqTqtqUquqVqvqWqwq" +
		"XqxqYqyqZqzqGrgrHrhrIrirJrjrKrkrLrlrMrmrNrnrOrorPrpr............gshsisjskslsmsnsGsHsIsJsKsLsMsNsospsqsrsssts...." +
		"OsPsQsRsSsTs....yszsgthtitjtktltYsZsGtHtItJtKtLtmtntotptqtrtstttMtNtOtPtQtRtStTtutvtwtxtytzt....UtVtWtXtYtZt...." +
		"kulumunuoupuquru..Lu..Nu..Pu..RuwuxuyuzugvhvivjvWuXuYuZuGvHvIvJvkvlvmvnvovpvqvrvsvtvuvvvwvxv....gwhwiwjwkwlwmwnw" +
		"GwHwIwJwKwLwMwNwowpwqwrwswtwuwvwOwPwQwRwSwTwUwVwwwxwywzwgxhxixjxWwXwYwZwGxHxIxJxkxlxmxnxox..qxrxKxLxKvLvNx......" +
		"....sxtxux..wxxxMvNvOvPvTx......yxzxgyhy....kylyYxZxQvRv........nyoypyqyrysytyuyNyOyUvVvSy..........xyyy....hziz" +
		"SvTvWvXvYy"},
	{0x2160, "" +
		"G9H9I9J9K9L9M9N9O9P9Q9R9S9T9U9V9g9h9i9j9k9l9m9n9o9p9q9r9s9t9u9v9"},
	{0x24B6, "" +
		"@A@B@C@D@E@F@G@H@I@J@K@L@M@N@O@P@Q@R@S@T@U@V@W@X@Y@Z@a@b@c@d@e@f@g@h@i@j@k@l@m@n@o@p@q@r@s@t@u@v@w@x@y@z"},
	{0xFF21, "" +
		"A@B@C@D@E@F@G@H@I@J@K@L@M@N@O@P@Q@R@S@T@U@V@W@X@Y@Z@............a@b@c@d@e@f@g@h@i@j@k@l@m@n@o@p@q@r@s@t@u@v@w@x@" +
		"y@z@"},
}
