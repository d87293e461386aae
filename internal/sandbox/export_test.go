package sandbox

// Inside tells what a program's box would have in it.
func (s *Sandbox) Inside(p Program) (read, write []string, err error) {
	o, err := s.orders(p.Path, p, "")
	return o.Read, o.Write, err
}
