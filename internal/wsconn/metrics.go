package wsconn

import "sync/atomic"

// Metrics are plain counters since the start; whoever exports them reads them.
type Metrics struct {
	// Opened and Closed count connections; the difference is how many are open.
	Opened, Closed atomic.Int64
	// MessagesIn and BytesIn count delivered messages, FramesOut and BytesOut what was written.
	MessagesIn, BytesIn, FramesOut, BytesOut atomic.Int64
	// Writes counts system calls made for FramesOut.
	Writes atomic.Int64
	// Replaced, Merged and Dropped count what happened to waiting messages of those policies.
	Replaced, Merged, Dropped atomic.Int64
	// Overflows and Silences count connections ended for those reasons.
	Overflows, Silences atomic.Int64
	// Oversized counts messages above the read limit, Refused those Admit turned away.
	Oversized, Refused atomic.Int64
	// Panics counts handler calls that panicked.
	Panics atomic.Int64
}
