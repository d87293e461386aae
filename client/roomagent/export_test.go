package roomagent

// DialLyingMesh proves a key of the test's choice on its links.
var DialLyingMesh = dialMesh

// Break ends the link with somebody as a lost network would.
func (m *Mesh) Break(id string) {
	m.do(func() {
		if p := m.peers[id]; p != nil {
			_ = p.pc.Close()
		}
	})
}

// Over sends something over a link without asking for any right.
func (m *Mesh) Over(id, data string) {
	m.do(func() {
		if p := m.peers[id]; p != nil {
			_ = p.channel.SendText(data)
		}
	})
}
