package telemetry

import (
	"time"

	"parley.internal/protocol/rest"
)

// Snapshot is the newest telemetry of a machine; Sections is nil when there is
// none yet.
type Snapshot = rest.Snapshot

// HistoryQuery chooses points of a machine's past.
type HistoryQuery struct {
	// Metric is one of the kept series (disk_percent, memory_percent,
	// temperature_c, battery_health, wifi_percent, overall); Label one of its
	// lines (a volume). Section without Metric gives the section of every kept
	// snapshot.
	Section, Metric, Label string
	From, Until            time.Time
	Limit                  int
}

// Point is one value of a series. Min and Max differ from Value for days.
type Point = rest.Point

// Past is one earlier section.
type Past = rest.Past

// History is a machine's past.
type History = rest.History

// TrendDay is the fleet on one day, by the worst each machine was.
type TrendDay = rest.TrendDay
