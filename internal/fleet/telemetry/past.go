package telemetry

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Snapshot is the newest telemetry of a machine; Sections is nil when there is
// none yet.
type Snapshot struct {
	ID        string                    `json:"agent_id"`
	Collected time.Time                 `json:"collected_at,omitzero"`
	Received  time.Time                 `json:"received_at,omitzero"`
	Sections  map[string]jsontext.Value `json:"snapshot"`
}

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
type Point struct {
	At    time.Time `json:"at"`
	Label string    `json:"label,omitempty"`
	Value float64   `json:"value"`
	Min   float64   `json:"min"`
	Max   float64   `json:"max"`
}

// Past is one earlier section.
type Past struct {
	At      time.Time      `json:"at"`
	Section jsontext.Value `json:"section"`
}

// History is a machine's past.
type History struct {
	ID       string  `json:"agent_id"`
	Section  string  `json:"section,omitempty"`
	Metric   string  `json:"metric,omitempty"`
	Points   []Point `json:"points,omitempty"`
	Sections []Past  `json:"sections,omitempty"`
}

// TrendDay is the fleet on one day, by the worst each machine was.
type TrendDay struct {
	Day  string   `json:"day"`
	OK   int      `json:"ok"`
	Warn int      `json:"warn"`
	Crit int      `json:"crit"`
	Bad  []string `json:"crit_members"`
	Poor []string `json:"warn_members"`
}
