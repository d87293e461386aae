package talk

// Watchers counts subscribers, for tests that must not act before one listens.
func (t *Talk) Watchers() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.watchers)
}
