package proxy

import (
	"net"
	"time"
)

// keepAlive finds peers that have vanished from a session in which nothing happens: after 60 s of
// silence, 5 probes at intervals of 10 s.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 60 * time.Second, Interval: 10 * time.Second, Count: 5}

// silence is for how long a peer may acknowledge nothing: keep-alive waits as long.
var silence = keepAlive.Idle + time.Duration(keepAlive.Count)*keepAlive.Interval

// pulse is what the kernel knows about a peer.
type pulse struct {
	asked int           // how often in a row it was sent the same again, or asked for room
	still time.Duration // since it acknowledged anything, were it only that it is there
	reset bool          // it has ended the connection, and takes nothing more
}

// vain is a peer that is asked and does not answer: since when, in a session's time, and how often
// it had been asked by then. The zero value is one that answers.
type vain struct {
	since int64
	asked int
}

// after is what has become of it after another look.
func (v vain) after(p pulse, now int64) vain {
	switch {
	case p.asked == 0:
		return vain{}
	case v.since == 0 || int64(p.still) < now-v.since: // it has answered meanwhile
		return vain{since: now, asked: p.asked}
	default:
		return v
	}
}

// vanished reports whether the peer has been silent for as long as limit. The longer it does not
// read, the more rarely the kernel asks it: two questions are the least.
func (v vain) vanished(p pulse, now int64, limit time.Duration) bool {
	const least = 2
	return v.since != 0 && time.Duration(now-v.since) >= limit && p.asked >= v.asked+least
}
