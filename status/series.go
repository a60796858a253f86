package status

import (
	"net/http"
	"strconv"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// series are the charts: equal steps of time, and what happened in each. A null is a time for which
// nobody recorded anything.
type series struct {
	Step    float64                  `json:"step_seconds"`
	Times   []int64                  `json:"times"` // where each step begins, in Unix seconds
	Deleted []*float64               `json:"deleted"`
	Due     []*float64               `json:"due"` // rows a second whose expiry fell into the step
	Totals  seriesTotals             `json:"totals"`
	Phases  map[string][]*float64    `json:"phases"` // workers busy with it
	Signals map[string]*signalSeries `json:"signals"`
}

// seriesTotals are those of the whole time; null as long as nobody has recorded anything of it.
type seriesTotals struct {
	Deleted  *float64 `json:"deleted"`
	Examined *float64 `json:"examined"`
	Failed   *float64 `json:"failed"`
	Due      *float64 `json:"due"`
}

// signalSeries is what governs a throttle: the highest reading of each step on any node, and the
// threshold then.
type signalSeries struct {
	Value     []*float64 `json:"value"`
	Threshold []*float64 `json:"threshold"`
}

// steps cuts a time into equal parts.
type steps struct {
	from time.Time
	to   time.Time
	step time.Duration
	n    int
}

// stepsFor cuts the hours before now into at most 200 steps that begin on whole multiples, so that
// a chart does not flicker from one reading to the next. The last one ends with the last sample.
func stepsFor(hours int, now time.Time) steps {
	step := time.Minute
	for _, step = range []time.Duration{
		time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute,
		15 * time.Minute,
	} {
		if time.Duration(hours)*time.Hour/step <= 200 {
			break
		}
	}
	from := now.Add(-time.Duration(hours) * time.Hour).Truncate(step)
	return steps{from: from, to: now, step: step, n: int((now.Sub(from) + step - 1) / step)}
}

// width is the length of a step in seconds; the last one may be shorter.
func (s steps) width(i int) float64 { return s.length(i).Seconds() }

// length is how long a step is; the last one may be shorter.
func (s steps) length(i int) time.Duration {
	return min(s.step, s.to.Sub(s.from)-time.Duration(i)*s.step)
}

// spread divides an amount that belongs to a period among the steps that it covers.
func (s steps) spread(from, to time.Time, add func(i int, share float64)) {
	whole := to.Sub(from)
	if whole <= 0 {
		return
	}

	first, last := from.Sub(s.from), to.Sub(s.from)
	for i := max(0, int(first/s.step)); i < s.n; i++ {
		begin := time.Duration(i) * s.step
		if begin >= last {
			return
		}
		if covered := min(begin+s.length(i), last) - max(begin, first); covered > 0 {
			add(i, float64(covered)/float64(whole))
		}
	}
}

// drawSeries makes the charts of everything, or of one table.
func drawSeries(s steps, samples []catalog.Sample, inflows []catalog.Inflow, table string) series {
	if len(samples) > 0 {
		s.to = samples[len(samples)-1].At
		s.n = min(s.n, max(0, int((s.to.Sub(s.from)+s.step-1)/s.step)))
	}

	out := series{
		Step: s.step.Seconds(), Times: make([]int64, s.n), Deleted: make([]*float64, s.n), Due: make([]*float64, s.n),
		Phases: map[string][]*float64{}, Signals: map[string]*signalSeries{},
	}
	for i := range out.Times {
		out.Times[i] = s.from.Add(time.Duration(i) * s.step).Unix()
	}

	for i := range samples {
		out.addSample(s, &samples[i], table)
	}

	out.addInflows(s, inflows, table)
	return out
}

func (o *series) addSample(s steps, m *catalog.Sample, table string) {
	rows := sumRows(m, table)
	from := m.At.Add(-m.Length)
	s.spread(from, m.At, func(i int, share float64) {
		add(o.Deleted, i, rows.Deleted*share/s.width(i))
		addTo(&o.Totals.Deleted, rows.Deleted*share)
		addTo(&o.Totals.Examined, rows.Examined*share)
		addTo(&o.Totals.Failed, rows.Failed*share)

		for phase, seconds := range m.Phases {
			if o.Phases[phase] == nil {
				o.Phases[phase] = make([]*float64, s.n)
			}
			add(o.Phases[phase], i, seconds*share/s.width(i))
		}

		for name, reading := range m.Signals {
			o.addSignal(s, name, i, reading)
		}
	})
}

func (o *series) addSignal(s steps, name string, i int, reading catalog.SampleSignal) {
	line := o.Signals[name]
	if line == nil {
		line = &signalSeries{make([]*float64, s.n), make([]*float64, s.n)}
		o.Signals[name] = line
	}
	if line.Value[i] == nil || *line.Value[i] < reading.Value {
		line.Value[i] = &reading.Value
	}
	if reading.Threshold > 0 { // 0 is no limit
		line.Threshold[i] = &reading.Threshold
	}
}

// addInflows adds what became due, which is spread evenly over the time between two jobs. There may
// be many, of many steps each: so only where they begin and end is written down for each of them.
func (o *series) addInflows(s steps, all []catalog.Inflow, table string) {
	begins, ends := make([]float64, s.n+1), make([]float64, s.n+1) // rows a second that do so with a step
	count := make([]int, s.n+1)                                    // of those that begin, less those that end

	for _, f := range all {
		if table != "" && f.Table.Schema+"."+f.Table.Name != table {
			continue
		}
		o.addInflow(s, f, func(first, behind int, perSecond float64) {
			begins[first] += perSecond
			ends[behind] += perSecond
			count[first]++
			count[behind]--
		})
	}

	began, ended, there := 0.0, 0.0, 0
	for i := range s.n {
		began, ended, there = began+begins[i], ended+ends[i], there+count[i]
		if there > 0 {
			add(o.Due, i, began-ended)
		}
	}
}

// addInflow adds one to the steps that it covers in part, and tells which it covers as a whole.
func (o *series) addInflow(s steps, f catalog.Inflow, between func(first, behind int, perSecond float64)) {
	from, to := max(0, f.From.Sub(s.from)), min(f.To.Sub(s.from), s.to.Sub(s.from))
	whole := f.To.Sub(f.From)
	if whole <= 0 || to <= from || s.n == 0 {
		return
	}

	perSecond := float64(f.Rows) / whole.Seconds()
	addTo(&o.Totals.Due, perSecond*(to-from).Seconds())
	part := func(i int) {
		begin := time.Duration(i) * s.step
		covered := min(begin+s.length(i), to) - max(begin, from)
		add(o.Due, i, perSecond*covered.Seconds()/s.width(i))
	}

	first, last := int(from/s.step), min(int((to-1)/s.step), s.n-1)
	part(first)
	if last > first {
		part(last)
	}
	if last > first+1 {
		between(first+1, last, perSecond)
	}
}

func sumRows(m *catalog.Sample, table string) catalog.SampleRows {
	if table != "" {
		return m.Tables[table]
	}
	var sum catalog.SampleRows
	for _, r := range m.Tables {
		sum.Deleted += r.Deleted
		sum.Examined += r.Examined
		sum.Failed += r.Failed
	}
	return sum
}

func add(line []*float64, i int, v float64) { addTo(&line[i], v) }

// addTo adds to what may not have been known.
func addTo(sum **float64, v float64) {
	if *sum == nil {
		*sum = new(float64)
	}
	**sum += v
}

// seriesHours is how far back charts reach unless asked, and may reach: as long as samples are
// kept.
const (
	seriesHours    = 24
	seriesHoursMax = 48
	seriesReach    = seriesHoursMax * time.Hour
)

func (a *api) getSeries(w http.ResponseWriter, r *http.Request) {
	hours := seriesHours
	if text := r.URL.Query().Get("hours"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > seriesHoursMax {
			refuse(w, http.StatusBadRequest, "hours: want a number from 1 to "+strconv.Itoa(seriesHoursMax))
			return
		}
		hours = n
	}

	p, err := a.archive.past(r.Context(), time.Duration(hours)*time.Hour)
	if err != nil {
		a.answer(w, r, nil, err)
		return
	}

	table := ""
	if f, err := a.filter(r); err == nil && f.Table.Name != "" {
		table = f.Table.Schema + "." + f.Table.Name
	}

	a.answer(w, r, drawSeries(stepsFor(hours, p.now), p.samples, p.inflows, table), nil)
}
