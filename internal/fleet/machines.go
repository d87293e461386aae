package fleet

import (
	"parley.internal/protocol/kenny"
	"parley.internal/protocol/rest"
)

// Presence is how a machine is connected.
type Presence = rest.Presence

// The presences. Only the first is online.
const (
	Online = rest.Online
	// Off said goodbye, or never came.
	Off = rest.Off
	// Reconnecting was cut a moment ago.
	Reconnecting = rest.Reconnecting
	// Overdue should have been back by now.
	Overdue = rest.Overdue
)

// Machine is a machine in a list.
type Machine = rest.Machine

// Meta is what a machine tells about itself.
type Meta = rest.Meta

// Window is a time in which nothing about a machine is announced.
type Window = rest.Window

// Thresholds are a machine's own times; zero means the usual one.
type Thresholds = rest.Thresholds

// ListQuery chooses machines.
type ListQuery struct {
	// Q is part of the id, name or hostname.
	Q        string
	Tag      string
	Presence Presence
	Overall  kenny.Status
	Cursor   string
	// Limit is 200 if 0, at most 1000.
	Limit int
}

// MachinePage is a page of machines.
type MachinePage = rest.Machines

// Counts sums a fleet up.
type Counts = rest.Counts

// Overview is the fleet, worst first.
type Overview = rest.Overview

// HealthReport is one machine, judged now.
type HealthReport = rest.HealthReport
