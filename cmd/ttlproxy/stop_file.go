package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/ttlproxy/ttlproxy/catalog/checkup"
)

// examineStopFile says what may keep a stop file from being seen by the proxy, beside what stops that at once.
// Mounts is the proxy's /proc/self/mountinfo; empty if that is not known.
func examineStopFile(name, mounts string) *checkup.Finding {
	if name == "" {
		return nil
	}
	f := &checkup.Finding{Level: checkup.Warning, Name: "stop file"}
	dir, err := filepath.Abs(filepath.Dir(name))
	if err == nil {
		_, err = os.Stat(dir + "/.") // which needs the right to enter it
	}
	switch private := privateMount(mounts, dir); {
	case err != nil:
		f.Text = "where " + name + " would be cannot be seen: " + err.Error()
		f.Advice = "give --stop-file a directory that is there, and that the proxy may enter"
	case private != "":
		f.Text = name + " is below a " + private + " of this service alone: whoever creates it sees another one"
		f.Advice = "give --stop-file another directory, or the unit PrivateTmp=no"
	case mounts == "" && temporary.MatchString(dir+"/"):
		f.Text = "a service of systemd's with PrivateTmp=yes, as that of ttlproxy, does not see " + name
		f.Advice = "give --stop-file another directory, such as /etc/ttlproxy"
	default:
		return nil
	}
	return f
}

// temporary are the directories of which a service may have its own.
var temporary = regexp.MustCompile(`^(/var)?/tmp/`)

// privateMount is the mount on the way to a directory that systemd has made for one service; empty for none.
func privateMount(mounts, dir string) string {
	for line := range strings.Lines(mounts) {
		// ID, parent, device, root, mount point: see proc_pid_mountinfo(5).
		fields := strings.Fields(line)
		if len(fields) > 4 && strings.Contains(fields[3], "/systemd-private-") &&
			strings.HasPrefix(dir+"/", fields[4]+"/") {
			return fields[4]
		}
	}
	return ""
}
