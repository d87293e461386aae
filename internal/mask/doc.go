// Package mask keeps secrets out of what is shown, kept and sent to models.
//
//	m := mask.New(func() []string { return []string{key, "sk-*"} })
//	text := m.Text(output)          // a text that is complete
//	s := m.Stream()                 // one that comes in pieces, however it is cut up
//	show(s.Push(piece)); show(s.End())
//	kept := m.JSON(raw)             // the same JSON, its strings masked
//
// Masked are the secrets this hub gives out itself, by their form, whatever the
// list says; the values of the list, of 8 characters or more, also as JSON writes
// them; and for an entry that ends in "*" every word that begins like it. A nil
// *Mask knows the hub's own forms, so that nothing is ever quite without a mask.
//
// A mask keeps secrets from lying about. It does not hold somebody up who is
// allowed to run programs and writes a secret in another spelling; that is what
// the box is for.
//
// [Guess] is for records that people read: it blots out what looks like a secret,
// whether or not it was one.
package mask
