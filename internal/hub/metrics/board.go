package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"parley.internal/internal/face/board"
	"parley.internal/internal/terminal"
)

// Board is what boards and terminals count; nothing names a person.
func Board(b *board.Face, t *terminal.Terminals) []prometheus.Collector {
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
	}
	counter := func(name, help string, value func() int64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return float64(value()) })
	}
	m := b.Metrics()
	return []prometheus.Collector{
		gauge("parley_board_connections", "Open connections of boards.", func() float64 { return float64(b.Connections()) }),
		gauge("parley_terminals_running", "Terminals whose process runs on this hub.", func() float64 { return float64(t.Running()) }),
		counter("parley_board_messages_total", "Messages received from boards.", m.MessagesIn.Load),
		counter("parley_board_frames_total", "Frames sent to boards.", m.FramesOut.Load),
		counter("parley_board_merged_total", "Pieces of text merged for slow readers.", m.Merged.Load),
		counter("parley_board_slow_total", "Boards cut because they read too slowly.", m.Overflows.Load),
	}
}
