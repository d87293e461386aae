package lease

// While the database is away nobody can say that it lives, and when it is back everybody
// seems to have been silent for too long. So hubs that lived before an outage are given up
// only after they had the time of a lease to speak again.

// gap is a time in which this hub could not renew its membership, by the database's clock.
type gap struct{ from, to int64 }

// deadBefore is when a hub must have expired, at the latest, to be dead now.
func (l *Leases) deadBefore(now int64) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case now-l.renewed > l.tooLong(): // the outage goes on, or is only just over
		return l.renewed
	case now < l.away.to+l.opts.TTL.Microseconds():
		return l.away.from
	default:
		return now
	}
}

// renewedAt notes a renewal, and the gap before it if there was one.
func (l *Leases) renewedAt(now int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.renewed != 0 && now-l.renewed > l.tooLong() {
		l.away = gap{l.renewed, now}
	}
	l.renewed = now
}

// tooLong is what passes between two renewals only if something is wrong.
func (l *Leases) tooLong() int64 { return max(2*l.opts.Renew, l.opts.TTL/2).Microseconds() }
