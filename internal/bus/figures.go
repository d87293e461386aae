package bus

// Figures are what the bus between hubs counted since this hub started.
type Figures struct {
	// In and Out are messages and their bytes, as they are on the wire.
	In, Out, InBytes, OutBytes uint64
	// Reconnects counts how often the line to the servers was made anew.
	Reconnects uint64
}

// Figures reads what was counted.
func (b *NATS) Figures() Figures {
	s := b.nc.Stats()
	return Figures{In: s.InMsgs, Out: s.OutMsgs, InBytes: s.InBytes, OutBytes: s.OutBytes, Reconnects: s.Reconnects}
}
