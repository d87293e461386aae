package sandbox

// Inside tells what a program's box would have in it.
func (s *Sandbox) Inside(p Program) (read, write []string, err error) {
	o, err := s.orders(p.Path, p, "")
	return o.Read, o.Write, err
}

// Seatbelt is the rules of a box on a Mac.
func Seatbelt(read, write []string, port int) string {
	return orders{Read: read, Write: write, Port: port}.seatbelt()
}

// InShell is how limits are set on a Mac.
func (l Limits) InShell() string { return l.limitsInShell() }
