package wire

// outstanding is a command whose response has not ended.
type outstanding struct {
	command Command
	started int64
	cursor  bool // it asks for one
}

// queue holds the outstanding commands, oldest first. A client that waits for its answers needs one
// place, one that pipelines rarely more than eight; beyond that the ring moves to the heap and
// grows.
type queue struct {
	inline [8]outstanding
	heap   []outstanding
	head   int
	n      int
}

func (q *queue) ring() []outstanding {
	if q.heap != nil {
		return q.heap
	}
	return q.inline[:]
}

func (q *queue) len() int { return q.n }

func (q *queue) front() outstanding { return q.ring()[q.head] }

func (q *queue) back() outstanding {
	ring := q.ring()
	return ring[(q.head+q.n-1)%len(ring)]
}

func (q *queue) push(o outstanding) {
	ring := q.ring()
	if q.n == len(ring) {
		grown := make([]outstanding, 2*len(ring))
		copy(grown[copy(grown, ring[q.head:]):], ring[:q.head])
		q.heap, q.head, ring = grown, 0, grown
	}
	ring[(q.head+q.n)%len(ring)] = o
	q.n++
}

func (q *queue) pop() outstanding {
	ring := q.ring()
	o := ring[q.head]
	q.head = (q.head + 1) % len(ring)
	if q.n--; q.n == 0 {
		q.heap, q.head = nil, 0
	}
	return o
}
