package signal

import (
	"math"
	"time"
)

// estimate is how many statements others begin each second, of a server that tells of each connection only when the
// last one began. Of several that a connection has begun between two looks one is seen; but the less ago that was, the
// more there are: a moment between two statements is half over, on average. So on a server that is hardly looked at,
// because a look takes long there, a few connections that do much are told from many that do little.
type estimate struct {
	looks []glimpse // the first only says since when
}

// glimpse is what one look has seen.
type glimpse struct {
	at    time.Time
	begun float64 // statements
	ago   float64 // milliseconds since they began, in all
}

const (
	// fewLooks count although they are more than workWindow ago, up to longWindow.
	fewLooks   = 4
	longWindow = 3 * time.Second
	// leastSeen are needed for their age to say something.
	leastSeen = 4
	// leastAgo is what cannot be told from less, in milliseconds.
	leastAgo = 0.5
)

// add takes what a look has seen, and says how much there is each second; false until that is known.
func (e *estimate) add(begun, ago float64) (perSecond float64, known bool) {
	now := time.Now()
	e.looks = append(e.looks, glimpse{now, begun, ago})
	old := 0
	for old+1 < len(e.looks) {
		since, newer := now.Sub(e.looks[old+1].at), len(e.looks)-2-old
		if since < workWindow || since < longWindow && newer < fewLooks {
			break
		}
		old++
	}
	e.looks = append(e.looks[:0], e.looks[old:]...)

	looks := e.looks[1:]
	begun, ago = 0, 0
	for _, l := range looks {
		begun, ago = begun+l.begun, ago+l.ago
	}
	perSecond = begun / max(now.Sub(e.looks[0].at), workWindow).Seconds()
	if begun >= leastSeen {
		mean := max(ago/(begun-math.Sqrt(begun)), leastAgo) // of few it could be that small by chance
		perSecond = max(perSecond, begun/float64(len(looks))*1000/(2*mean))
	}
	return perSecond, len(looks) > 0
}
