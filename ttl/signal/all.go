package signal

// All are the signals that are read from the server on which rows are deleted.
func All() []Signal {
	load := []Signal{threads{}, history{}, checkpoint{}, &lockWaits{}, &latency{}}
	return append(load, &flowControl{}, receiveQueue{}, group{}, newAurora(auroraTable))
}
