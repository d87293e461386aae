// Package eventlog keeps what happens to a thing as a numbered stream on disk, and gives
// it to readers again from any number on. Tasks are followed through it.
//
//	first, err := log.Append(ctx, lease, "task.42", eventlog.Event{Kind: "delta", Data: data})
//	log.AppendSoon(lease, "task.42", done, event)                  // does not wait; done is told
//	for ev, err := range log.Follow(ctx, "task.42", after) { … }   // replay, then live, for ever
//
// What it guarantees, for every stream and every reader:
//
//   - Sequence numbers are 1, 2, 3 … without holes, given when the event is
//     appended. When Append returns, or AppendSoon calls done, its events are on disk;
//     nobody reads them before.
//   - Follow yields each event after the given number exactly once, in order: no
//     gap, no duplicate, whatever writers, restarts and changes of owner do
//     meanwhile. The change-over from replay to live is inside it.
//   - An append guarded by a lease that was lost writes nothing.
//   - Condense makes a log smaller without changing a number: an event may then
//     stand for several, and a reader gets it who has not seen all of them.
//
// The store is the record; the bus only carries the news. A reader takes an
// event from the bus when it is the very next one and asks the store in every
// other case, so a bus that loses, repeats or reorders messages costs time and
// never correctness.
//
// To hand out a snapshot and what follows it, read the snapshot and LastSeq in
// one transaction, then Follow from that number.
package eventlog
