package probe

import (
	"testing"
	"testing/fstest"
)

func TestAutostartOfALinuxMachine(t *testing.T) {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	got := autostartIn(fstest.MapFS{
		"etc/systemd/system/multi-user.target.wants/web.service":   file(""),
		"etc/systemd/system/getty.target.wants/getty@tty1.service": file(""),
		"usr/lib/systemd/system/web.service":                       file("ExecStart=/usr/bin/web\n"),
		"usr/lib/systemd/system/getty@.service":                    file("ExecStart=-/sbin/agetty\n"),
		"home/ann/.config/autostart/sync.desktop":                  file("[Desktop Entry]\nName=Sync\nExec=sync-it\n"),
		"etc/cron.d/jobs": file("@reboot ann /home/ann/job\n"),
	})
	same(t, "entries", []Startup{
		{Name: "getty@tty1.service", Command: "/sbin/agetty", Location: "/etc/systemd/system/getty.target.wants"},
		{Name: "web.service", Command: "/usr/bin/web", Location: "/etc/systemd/system/multi-user.target.wants"},
		{Name: "Sync", Command: "sync-it", Location: "/home/ann/.config/autostart/sync.desktop"},
		{Name: "@reboot", Command: "/home/ann/job", Location: "/etc/cron.d/jobs"},
	}, got)
}

func TestThisMachineHasVolumesProcessesAndInterfaces(t *testing.T) {
	volumes, err := Volumes(t.Context())
	if err != nil || len(volumes) == 0 || volumes[0].TotalBytes == 0 {
		t.Errorf("%v %v; want no error, len(volumes) not to be 0, volumes[0].TotalBytes not to be 0", volumes, err)
	}
	processes, err := Processes(t.Context())
	if err != nil || len(processes) == 0 || processes[0].MemBytes == 0 {
		t.Errorf("%d %v; want no error, len(processes) not to be 0, processes[0].MemBytes not to be 0", len(processes), err)
	}
	interfaces, err := Interfaces()
	if err != nil || len(interfaces) == 0 {
		t.Errorf("%v %v; want no error, len(interfaces) not to be 0", interfaces, err)
	}
	if loop, err := Loopback("lo"); err != nil || !loop {
		t.Errorf("lo: %v %v", loop, err)
	}
}
