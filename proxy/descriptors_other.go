//go:build !unix

package proxy

// descriptors knows of no limit here.
func descriptors() (int, bool) { return 0, false }

func outOfDescriptors(error) bool { return false }
