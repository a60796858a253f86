package main

// excused are tests that notice the proxy, and why that is not a bug.
var excused = map[string]string{
	"grant_cache_no_prot":           "counts all queries that the server has answered, and the proxy asks for policies",
	"ssl_compress":                  "asks the server whether the connection is compressed",
	"test_wl12475":                  "wants compression, which is masked",
	"test_wl13075":                  "wants TLS sessions to be resumed, and TLS ends at the proxy",
	"test_wl13510_multi_statements": "allows no connection without compression",
	"test_wl14839": "asks the server for the name that the client has put into TLS, which ends at " +
		"the proxy",
}
