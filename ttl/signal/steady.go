package signal

import "time"

// steady tells early that an application has ended: one that was at work without a pause, and of a sudden is not. To
// wait for the whole of presentFor would be for those who do pause.
type steady struct {
	recent  window // of what it does
	working bool
	since   tick      // of work without a pause
	last    tick      // of it
	fallen  time.Time // when it ended; zero if it has not
	wrong   time.Time // when one that was thought to have ended came back
}

const (
	// steadyFor is how long somebody has to have been at work.
	steadyFor = 1500 * time.Millisecond
	// quietFor is for how long he has to have done hardly anything: longer than the tenth of a second for which commits
	// stand still on MySQL.
	quietFor = 300 * time.Millisecond
	// quietOf is how much he would have done meanwhile, at least.
	quietOf = 20.0
	// steadyWary is for how long nobody is trusted to be steady after one who was not.
	steadyWary = time.Minute
	// leastLooks are needed in quietFor: who is hardly looked at hardly seems to do anything.
	leastLooks = 4
)

// falls takes a count of what others have done; it reports that there is reason to believe that they have ended.
func (s *steady) falls(count float64) bool {
	now := time.Now()
	s.recent.length = quietFor
	perSecond, _ := s.recent.per(count)
	if len(s.recent.seen) < leastLooks || s.recent.span() < quietFor {
		s.working, s.since, s.last = false, tick{}, tick{}
		return false
	}

	before := s.working
	if s.working = perSecond >= fewPerSecond; s.working {
		if !before {
			s.since = tick{now, count}
		}
		if now.Sub(s.fallen) < workWindow+presentFor {
			s.wrong = now
		}
		s.last, s.fallen = tick{now, count}, time.Time{}
		return false
	}

	worked := s.last.at.Sub(s.since.at)
	usual := (s.last.count - s.since.count) / worked.Seconds()
	return s.fallen.IsZero() && now.Sub(s.last.at) < presentFor && worked >= steadyFor &&
		usual*quietFor.Seconds() >= quietOf && now.Sub(s.wrong) >= steadyWary
}

// overrules reports that somebody who was seen at work is believed to have ended since then.
func (s *steady) overrules(seen time.Time) bool {
	return !s.fallen.IsZero() && seen.Before(s.fallen.Add(workWindow))
}

// anew forgets who was at work, because counts are others from now on.
func (s *steady) anew() { *s = steady{wrong: s.wrong} }
