package main

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
)

// firstSocket is the descriptor of the first socket that systemd passes.
const firstSocket = 3

// inheritedSockets are the listening sockets that systemd has opened for this process, by the names
// that their units give them (FileDescriptorName=). They stay open while nobody runs, so that a
// restart refuses no client: see sd_listen_fds(3).
func inheritedSockets(getenv func(string) (string, bool)) (map[string][]net.Listener, error) {
	pid, _ := getenv("LISTEN_PID")
	count, _ := getenv("LISTEN_FDS")
	if pid != strconv.Itoa(os.Getpid()) || count == "" {
		return nil, nil //nolint:nilnil // there are none
	}

	n, err := strconv.Atoi(count)
	if err != nil || n < 0 {
		return nil, fmt.Errorf("LISTEN_FDS is %q: want a number", count)
	}

	list, _ := getenv("LISTEN_FDNAMES")
	names := strings.Split(list, ":")
	sockets := make(map[string][]net.Listener)
	for i := range n {
		name := "unknown" // which is what systemd calls them
		if i < len(names) {
			name = cmp.Or(names[i], name)
		}

		file := os.NewFile(uintptr(firstSocket+i), name)
		l, err := net.FileListener(file) // a copy, which no child gets
		if err != nil {
			return nil, fmt.Errorf("socket %d, which systemd has passed as %q: %w", firstSocket+i, name, err)
		}
		if err := file.Close(); err != nil {
			return nil, err
		}
		sockets[name] = append(sockets[name], l)
	}

	return sockets, nil
}
