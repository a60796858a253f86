package main

// excused are tests that see the proxy's own account at work, and why that is no mistake.
var excused = map[string]string{
	"grant_cache_no_prot": "counts all queries that the server has answered, and the proxy asks for policies",
}
