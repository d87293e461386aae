package memory

import "parley.internal/internal/store"

// Outcome is how a turn ended, and why if it did not end well.
type Outcome struct {
	How  string
	Code string
}

// How a turn can end.
const (
	Complete    = "complete"
	Cut         = "cut"         // it had more to say: a limit ended it
	Cancelled   = "cancelled"   // somebody ended it
	Interrupted = "interrupted" // its hub ended
	Failed      = "failed"      // the model, or the hub, could not go on
)

// MarkOutcome tells with the last words of a run how it ended, for one that left no
// answer: they are its own, or those of the person it could not answer.
func (m *Memory) MarkOutcome(tx *store.Tx, r Run) error {
	num, _, err := byID(tx, r.Conversation)
	if err != nil {
		return err
	}
	_, err = tx.Exec(`UPDATE talk_messages SET outcome = ?, outcome_code = ? WHERE conversation = ? AND seq =
		(SELECT max(seq) FROM talk_messages WHERE conversation = ? AND seq >= ? AND run = ? AND role IN ('user', 'assistant') AND length(text) > 0)`,
		r.Outcome.How, r.Outcome.Code, num, num, r.UserSeq, r.ID)
	return err
}

// Part is a running turn's text so far, behind the parts of it that are messages.
type Part struct {
	Run   string
	Parts int64
	Text  string
	Guard Guard
}

// KeepParts stores what running turns have said so far, so that it outlives their hub. One
// whose words became a message meanwhile, or that another hub runs, is left alone.
func (m *Memory) KeepParts(tx *store.Tx, parts []Part) error {
	for _, p := range parts {
		if fenced(tx, p.Guard) != nil {
			continue
		}
		if _, err := tx.Exec(`UPDATE talk_runs SET text = ? WHERE id = ? AND parts = ? AND ended_at = 0`, []byte(p.Text), p.Run, p.Parts); err != nil {
			return err
		}
	}
	return nil
}

// PartStored tells, in the transaction that stores a part of a run as messages, that its
// text so far is among them.
func (m *Memory) PartStored(tx *store.Tx, run string) error {
	_, err := tx.Exec(`UPDATE talk_runs SET text = ?, parts = parts + 1 WHERE id = ?`, []byte{}, run)
	return err
}
