package probe

import (
	"errors"
	"fmt"
)

// ErrUnsupported means that this system has no such thing.
var ErrUnsupported = errors.New("not available on this machine")

func unsupported(what string) error { return fmt.Errorf("%w: %s", ErrUnsupported, what) }

// Volume is a mounted file system.
type Volume struct {
	Mount       string  `json:"mount"`
	TotalBytes  uint64  `json:"total_bytes"`
	FreeBytes   uint64  `json:"free_bytes"`
	PercentUsed float64 `json:"percent_used"`

	// Device is what is mounted; it does not travel.
	Device string `json:"-"`
}

// Process is a running program.
type Process struct {
	PID  int32  `json:"pid"`
	Name string `json:"name"`
	// CPU is percent of one processor over the moment of measuring.
	CPU      float64 `json:"cpu"`
	MemBytes uint64  `json:"mem_bytes"`
}

// Words for services, the same on every system.
const (
	Running  = "Running"
	Stopped  = "Stopped"
	Failed   = "Failed"
	Starting = "Starting"
	Stopping = "Stopping"
	Paused   = "Paused"

	Auto     = "Auto"
	Manual   = "Manual"
	Disabled = "Disabled"
)

// Service is a background program the system manages.
type Service struct {
	Name    string `json:"name"`
	Display string `json:"display"`
	Status  string `json:"status"`
	Start   string `json:"start"`

	// Idle: an automatic service that is allowed to be stopped, because a
	// trigger or a delay starts it. It does not travel.
	Idle bool `json:"-"`
}

// Event is an entry of the system's log.
type Event struct {
	Time    string `json:"time"`
	Level   string `json:"level"`
	Source  string `json:"source"`
	Message string `json:"message"`
}

// Startup is something the system starts by itself.
type Startup struct {
	Name     string `json:"name"`
	Command  string `json:"command"`
	Location string `json:"location"`
}

// Interface is a network interface.
type Interface struct {
	Name string   `json:"name"`
	MAC  string   `json:"mac"`
	IPs  []string `json:"ips"`
}

// Route is a line of the routing table.
type Route struct {
	Destination string `json:"destination"`
	NextHop     string `json:"next_hop"`
	Interface   string `json:"interface"`
	Metric      int    `json:"metric"`
}

// Package is an installed program, with the version it could have.
type Package struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Version   string `json:"version"`
	Available string `json:"available"`
}
