package tables

import "iter"

// ListBytes is how long a list of keys gets as text. The packet of a batch has up to four lists, and many
// servers take none that is longer than a megabyte (max_allowed_packet).
const ListBytes = 200 << 10

// Fit is how many of the keys one list names: at least one, if there is any.
func (cs Columns) Fit(keys []Key) (n int) {
	for size := 0; n < len(keys); n++ {
		if size += cs.size(keys[n]); size > ListBytes && n > 0 {
			break
		}
	}
	return n
}

// Lists are keys in lists of up to so many that Fit.
func (cs Columns) Lists(keys []Key, most int) iter.Seq[[]Key] {
	return func(yield func([]Key) bool) {
		for len(keys) > 0 {
			n := cs.Fit(keys[:min(len(keys), most)])
			if !yield(keys[:n:n]) {
				return
			}
			keys = keys[n:]
		}
	}
}

// size is about how long a key is as text, as row and equal write it.
func (cs Columns) size(k Key) (bytes int) {
	for i, v := range k[:min(len(k), len(cs))] {
		switch c := cs[i]; c.Kind {
		case Text:
			bytes += len("_ x'' COLLATE , ") + len(c.Charset) + len(c.Collation) + 2*len(v)
		case Bytes:
			bytes += len("x'', ") + 2*len(v)
		default:
			bytes += len("'', ") + len(v)
		}
		if cs.apart() {
			bytes += len(" AND  = ") + len(cs[i].Quoted())
		}
	}
	return bytes
}
