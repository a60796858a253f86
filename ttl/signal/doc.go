// Package signal measures what tells the engine to hold back: the state of the server, of those
// that replicate from it, and of the application. Each file is one signal.
//
// A Signal answers with a Reading for each of its sources: a value beside its threshold. Readings
// of different things compare by their Pressure, which is 1 at the threshold, and Strictest decides
// (package pace turns it into a speed). To add a signal, write its file with a Signal, its setting
// in catalog/setting, where 0 turns it off, and its line in the list that the engine watches.
//
// A Watch asks all signals, each for itself: one that fails, hangs or panics is Unknown, which is a
// state of its own, and the others are read all the same. A Doubter names the sources that are
// Unknown then. What cannot be seen at all, as the application's latency on a server that does not
// measure it, is NotSeen: it neither holds anything back nor counts as good.
//
// Application is no Signal: it says whether anybody else is at work, which is looked at more often,
// and bounds the speed before anybody has to suffer.
//
// Nothing here changes anything on a server, and nothing here waits for the engine or makes it
// wait.
package signal
