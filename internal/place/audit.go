package place

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"

	"parley.internal/internal/place/relay"
	"parley.internal/internal/store"
	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/board"
)

// detail is what only some events have; it is kept as JSON.
type detail struct {
	Fingerprint string `json:"f,omitzero"`
	KeyID       string `json:"k,omitzero"`
	Changed     *bool  `json:"c,omitzero"`
	Proof       string `json:"p,omitzero"`
	Reason      string `json:"r,omitzero"`
	Peer        string `json:"e,omitzero"`
}

// note writes an entry with the act it describes.
func (p *Place) note(tx *store.Tx, e board.AuditEntry) error {
	d := detail{Fingerprint: e.KeyFingerprint, KeyID: e.KeyID, Changed: e.Changed, Proof: e.Proof, Reason: e.Reason, Peer: e.Peer}
	text := ""
	if d != (detail{}) {
		encoded, err := mmp.Encode(d)
		if err != nil {
			return err
		}
		text = string(encoded)
	}
	return writeNotes(tx, []any{store.Micros(p.now()), e.EventType, e.Action, e.AgentID, "", e.PostingID + e.SkillID, "", int64(0), "", text})
}

const (
	noteRow  = `(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	intoNote = ` INTO place_audit (at, event, action, agent, other, ref, kind, size, hash, detail) VALUES `
)

// With OR FAIL SQLite keeps no copy of each page it changes to undo the statement.
var newNotes = map[store.Dialect]store.Rows{
	store.SQLite:   store.ManyRows(`INSERT OR FAIL`+intoNote, noteRow, ``),
	store.Postgres: store.ManyRows(`INSERT`+intoNote, noteRow, ``),
}

func writeNotes(tx *store.Tx, args []any) error {
	notes := newNotes[tx.Dialect()]
	return notes.Exec(tx, args)
}

// noteRelay writes what the relay says of messages, as a pack if that is several things.
func noteRelay(tx *store.Tx, at time.Time, notes []relay.Note) error {
	var args []any
	lines := make([]byte, 0, 192*len(notes))
	for _, n := range notes {
		text, err := relayDetail(n)
		if err != nil {
			return err
		}
		if m := n.Message; len(notes) > 1 && tx.Dialect() == store.SQLite {
			lines = packEntry(lines, n.Action, m.Sender, m.Recipient, m.ID, m.Kind, m.Size, m.Hash, text)
		} else {
			args = append(args, store.Micros(at), board.AuditRelay, n.Action, m.Sender, m.Recipient, m.ID, m.Kind, m.Size, m.Hash, text)
		}
	}
	if len(lines) > 0 {
		return writePack(tx, store.Micros(at), board.AuditRelay, len(notes), lines)
	}
	return writeNotes(tx, args)
}

// relayDetail is what only the unusual has.
func relayDetail(n relay.Note) (string, error) {
	if n.Reason == "" {
		return "", nil
	}
	encoded, err := mmp.Encode(detail{Reason: n.Reason, Peer: n.Message.Peer})
	return string(encoded), err
}

// maxAuditScan bounds how far back a filter looks through relay entries: they have
// no index of their own, since every message writes two.
const maxAuditScan = 200_000

// Audit lists the last entries in time order, as far as the caller may see them.
func (p *Place) Audit(ctx context.Context, who Visitor, q board.AuditQuery) (board.AuditAnswer, error) {
	out := board.AuditAnswer{Entries: []board.AuditEntry{}, Note: board.AuditNote}
	if p.c.Auth == Strict && !who.Operator() {
		if who.Agent == "" {
			return out, mmp.ErrAuthRequired
		}
		if q.AgentID != "" && q.AgentID != who.Agent {
			return out, mmp.ErrNotYourAgent
		}
		q.AgentID = who.Agent
	}
	err := p.read(ctx, func(tx *store.Tx) error {
		hide, err := p.hider(tx, who)
		if err != nil {
			return err
		}
		out.Entries, err = auditEntries(tx, q, hide)
		return err
	})
	out.Count = len(out.Entries)
	return out, err
}

// hider makes the function that hides ids from this caller.
func (p *Place) hider(tx *store.Tx, who Visitor) (func(string) (string, error), error) {
	if who.Operator() || p.c.Auth == Open && !p.c.Anonymize {
		return func(id string) (string, error) { return id, nil }, nil
	}
	anonymous, err := p.anonymous(tx)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	return func(id string) (string, error) {
		if id == "" || who.holds(id) {
			return id, nil
		}
		if p.c.Anonymize {
			return anonymous(id), nil
		}
		is, ok := known[id]
		if !ok {
			if is, err = heldID(tx, id); err != nil {
				return "", err
			}
			known[id] = is
		}
		if is {
			return anonymous(id), nil
		}
		return id, nil
	}, nil
}

const auditColumns = `SELECT seq, at, event, action, agent, other, ref, kind, size, hash, detail FROM place_audit`

// auditEntries looks from the newest back and turns the result round.
func auditEntries(tx *store.Tx, q board.AuditQuery, hide func(string) (string, error)) ([]board.AuditEntry, error) {
	query, args := auditColumns, []any{}
	switch {
	case q.Type == board.AuditRelay:
		query += ` WHERE event = 'relay'`
	case q.Type != "":
		query += ` WHERE event <> 'relay' AND event = ?`
		args = append(args, q.Type)
	}
	since := store.Micros(q.Since)
	errDone := errors.New("enough")
	if q.Limit == 0 || strings.ContainsRune(q.Type, 0) {
		return []board.AuditEntry{}, nil
	}
	found, scanned := []auditRow{}, 0
	err := tx.Each(func(r *sql.Rows) error {
		row, err := scanAudit(r)
		if err != nil {
			return err
		}
		if row.at < since {
			return errDone // numbers follow the clock
		}
		for _, e := range slices.Backward(row.unpack()) {
			if scanned++; q.AgentID == "" || e.agent == q.AgentID || e.other == q.AgentID {
				found = append(found, e)
			}
			if len(found) >= q.Limit || scanned >= maxAuditScan {
				return errDone
			}
		}
		return nil
	}, query+` ORDER BY seq DESC`, args...)
	if err != nil && !errors.Is(err, errDone) {
		return nil, err
	}
	out := make([]board.AuditEntry, 0, len(found))
	for _, row := range slices.Backward(found) {
		e, err := row.entry(hide)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

type auditRow struct {
	seq, at, size                                           int64
	event, action, agent, other, ref, kind, hash, detailRaw string
}

func scanAudit(r store.Row) (a auditRow, err error) {
	err = r.Scan(&a.seq, &a.at, &a.event, &a.action, &a.agent, &a.other, &a.ref, &a.kind, &a.size, &a.hash, &a.detailRaw)
	return a, err
}

func (a auditRow) entry(hide func(string) (string, error)) (board.AuditEntry, error) {
	agent, err := hide(a.agent)
	if err != nil {
		return board.AuditEntry{}, err
	}
	e := board.AuditEntry{Timestamp: mmp.At(store.Time(a.at)), EventType: a.event, Action: a.action}
	if a.detailRaw != "" {
		var d detail
		if err := mmp.Decode([]byte(a.detailRaw), &d); err != nil {
			return e, err
		}
		e.KeyFingerprint, e.KeyID, e.Changed, e.Proof, e.Reason, e.Peer = d.Fingerprint, d.KeyID, d.Changed, d.Proof, d.Reason, d.Peer
	}
	switch a.event {
	case board.AuditRelay:
		other, err := hide(a.other)
		if err != nil {
			return e, err
		}
		e.RelayID, e.Participants, e.MessageType, e.SizeBytes, e.ContentHash = a.ref, []string{agent, other}, a.kind, &a.size, a.hash
		return e, nil
	case board.AuditBulletin:
		e.PostingID = a.ref
	case board.AuditDeposit:
		e.SkillID = a.ref
	}
	e.AgentID = agent
	if agent != a.agent {
		// A fingerprint would undo what the made-up name hides.
		e.KeyFingerprint, e.KeyID = "", ""
	}
	return e, nil
}
