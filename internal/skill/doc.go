// Package skill is what agents of this hub exchange with others: skills, and the
// talk around them.
//
//	s, err := skill.New(skill.Deps{DB: db, Inbox: inbox, Hosts: hosts, Own: own, Owner: owner}, skill.Config{Dir: dir})
//	err = s.Start(ctx)                                  // outbox, time-outs, decisions
//
//	exchange, err := s.Offer(ctx, "parley", "tea", "bob")  // on disk, then sent
//	result, err := s.Handle(ctx, "parley", sender, message) // what came in
//	items, err := s.List(ctx, skill.Waiting)                // what a person should look at
//
//	message ─▶ level ─▶ one transaction: seen before? ─▶ act ─▶ record + outbox
//	                                                        │
//	            skill_content ─▶ checks ─▶ scan ─▶ quarantine ─▶ inbox ─▶ in use | refused
//
// What it guarantees:
//
//   - Nothing received is used before a person approved exactly this content, and
//     nothing received is ever executed. Until then no agent, tool or peer sees it.
//   - A message has its effect once: repeated, it gets its first answer. Effect and
//     answer are committed together; an answer that was committed is sent, also
//     after a crash.
//   - Only skills marked public leave, and only by their id: never a path.
//   - How far a peer is known (L0, L1, L2) limits what it may do, in the
//     transaction that does it.
//   - What peers wrote is shown as text: no HTML, no invisible characters.
package skill
