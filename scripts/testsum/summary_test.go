package main

import (
	"strings"
	"testing"
)

const stream = `
{"Action":"build-output","ImportPath":"m/broken","Output":"broken.go:3: undefined: x\n"}
{"Action":"build-fail","ImportPath":"m/broken"}
{"Action":"run","Package":"m/a","Test":"TestGood"}
{"Action":"output","Package":"m/a","Test":"TestGood","Output":"noise\n"}
{"Action":"pass","Package":"m/a","Test":"TestGood","Elapsed":0.1}
{"Action":"output","Package":"m/a","Test":"TestBad","Output":"    a_test.go:7: got 1, want 2\n"}
{"Action":"fail","Package":"m/a","Test":"TestBad","Elapsed":0.1}
{"Action":"output","Package":"m/a","Test":"TestLater","Output":"    log_test.go:3: level=INFO msg=listening\n"}
{"Action":"output","Package":"m/a","Test":"TestLater","Output":"    a_test.go:9: needs a server\n"}
{"Action":"output","Package":"m/a","Test":"TestLater","Output":"level=INFO msg=stopped\n"}
{"Action":"output","Package":"m/a","Test":"TestLater","Output":"--- SKIP: TestLater (0.00s)\n"}
{"Action":"skip","Package":"m/a","Test":"TestLater"}
{"Action":"output","Package":"m/a","Test":"TestStory","Output":"    testscript.go:380: no such program\n"}
{"Action":"output","Package":"m/a","Test":"TestStory","Output":"    testscript.go:609: WORK=$WORK\n"}
{"Action":"output","Package":"m/a","Test":"TestStory","Output":"        PATH=/bin\n"}
{"Action":"skip","Package":"m/a","Test":"TestStory"}
{"Action":"fail","Package":"m/a","Elapsed":1.5}
{"Action":"output","Package":"m/b","Test":"TestHangs","Output":"panic: test timed out\n"}
{"Action":"output","Package":"m/b","Output":"exit status 2\n"}
{"Action":"fail","Package":"m/b","Elapsed":0.5}
`

const want = `FAIL m/broken
broken.go:3: undefined: x
FAIL m/a.TestBad
    a_test.go:7: got 1, want 2
fail m/a                                                             1.5s
fail m/b                                                             0.5s
FAIL m/b
exit status 2
did not end: TestHangs
panic: test timed out
skipped 1: needs a server
skipped 1: no such program
NOT TESTED on mysql: no such server on this machine (see above)
1 passed, 4 failed
`

func TestSummary(t *testing.T) {
	var out strings.Builder
	s := newSummary(&out)
	if err := s.read(strings.NewReader(stream)); err != nil {
		t.Fatal(err)
	}
	s.report([]string{"mysql"}, true)
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

// TestLogs: what a test that passes has logged is printed for whoever asks for it.
func TestLogs(t *testing.T) {
	var out strings.Builder
	s := newSummary(&out)
	s.logs = true
	if err := s.read(strings.NewReader(stream)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "m/a.TestGood\nnoise\n") {
		t.Errorf("got\n%s", out.String())
	}
}
