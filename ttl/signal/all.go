package signal

// All are the signals that are read from the server on which rows are deleted.
func All() []Signal {
	return []Signal{
		threads{}, history{}, &flowControl{}, receiveQueue{}, &lockWaits{}, &latency{},
	}
}
