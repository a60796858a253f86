package program

import "sync/atomic"

// started says that a test has asked for the program, so that it is built and later removed.
var started atomic.Bool
