package skill

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"parley.internal/internal/place"
	"parley.internal/internal/store"
	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/meeting"
)

const day = 24 * time.Hour

// turn is one message being handled, inside a transaction.
type turn struct {
	s     *Skills
	tx    *store.Tx
	host  Host
	from  place.Sender
	place string // where it came from; empty for our own place
	level Level
	peer  peer
	m     meeting.Message
	keys  map[string]*mmp.PublicKey
	now   time.Time

	note  string // kept with the message
	auto  *meeting.Message
	items []string // to be asked about after the commit
	exts  []string
	alarm *keyChange
	kept  *Note // to be asked about, or to be read by the agent
}

// Handle processes a message to an agent and says what it came to. Repeated, it
// says the same and does nothing.
func (s *Skills) Handle(ctx context.Context, agent string, from place.Sender, m meeting.Message) (meeting.Result, error) {
	return s.handle(ctx, agent, "", from, m)
}

func (s *Skills) handle(ctx context.Context, agent, at string, from place.Sender, m meeting.Message) (meeting.Result, error) {
	host, err := s.host(agent)
	if err != nil {
		return meeting.Result{}, err
	}
	if odd(m.ID) || odd(m.RepliesTo()) || odd(m.Action) {
		return m.InvalidResult(host.ID, meeting.CodeInvalidPayload, "An id with control characters", s.now())
	}
	level, err := s.believed(ctx, from)
	if err != nil {
		return meeting.Result{}, err
	}
	keys := s.chainKeys(ctx, host, at, m)
	var t *turn
	var result meeting.Result
	var again bool
	err = s.d.DB.Write(ctx, func(tx *store.Tx) (err error) {
		t = &turn{s: s, tx: tx, host: host, from: from, place: at, level: level, m: m, keys: keys, now: s.now()}
		if result, again, err = t.seen(); err != nil || again {
			return err
		}
		return t.do(&result)
	})
	if err != nil {
		return meeting.Result{}, err
	}
	if !again {
		s.after(ctx, t)
	}
	return result, nil
}

// odd characters are in no id.
func odd(id string) bool {
	return strings.ContainsFunc(id, func(r rune) bool { return r < ' ' || r == 0x7f })
}

func (t *turn) do(result *meeting.Result) error {
	if err := t.pin(); err != nil {
		return err
	}
	r, err := t.act()
	if err != nil {
		return err
	}
	*result = r
	if err := t.peer.save(t.tx, t.host.ID, t.from.ID, store.Micros(t.now)); err != nil {
		return err
	}
	if err := t.record(r); err != nil {
		return err
	}
	return t.answer(r)
}

// after does what needs no transaction.
func (s *Skills) after(ctx context.Context, t *turn) {
	for _, id := range t.items {
		s.ask(ctx, id)
	}
	for _, name := range t.exts {
		s.askPromotion(ctx, t.host, name)
	}
	if t.alarm != nil {
		s.askKey(ctx, t.host, t.place, t.from.ID, t.alarm.was, t.alarm.now)
	}
	if t.kept != nil && t.kept.state == noteAsked {
		s.askNote(ctx, *t.kept)
	}
	s.wake.Ring()
}

// seen finds the answer a message got before.
func (t *turn) seen() (meeting.Result, bool, error) {
	var stored string
	err := t.tx.QueryRow(`SELECT result FROM skill_messages WHERE me = ? AND peer = ? AND id = ? AND outgoing = 0 AND at > ?`,
		t.host.ID, t.from.ID, t.m.ID, store.Micros(t.now.Add(-day))).Scan(&stored)
	if errors.Is(err, sql.ErrNoRows) {
		return meeting.Result{}, false, nil
	}
	if err != nil {
		return meeting.Result{}, false, err
	}
	r, err := readResult(stored)
	return r, true, err
}

// readResult makes a result of what was stored; it reads the same as it was sent.
func readResult(stored string) (meeting.Result, error) {
	var all map[string]mmp.Raw
	if err := mmp.Decode([]byte(stored), &all); err != nil {
		return meeting.Result{}, err
	}
	r := meeting.Result{Fields: map[string]any{}}
	for name, into := range map[string]*string{"status": &r.Status, "action": &r.Action, "from": &r.From} {
		if err := mmp.Decode(all[name], into); err != nil {
			return r, err
		}
		delete(all, name)
	}
	if s := all["suggested_response"]; s.Kind() != 'n' && s != nil {
		r.Suggested = s
	}
	delete(all, "suggested_response")
	for name, value := range all {
		r.Fields[name] = value
	}
	return r, nil
}

func (t *turn) record(r meeting.Result) error {
	raw, err := mmp.Encode(r)
	if err != nil {
		return err
	}
	_, err = t.tx.Exec(`INSERT INTO skill_messages (me, peer, id, outgoing, auto, action, level, direct, note, result, place, at) VALUES (?, ?, ?, 0, 0, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (me, peer, id, outgoing) DO UPDATE SET result = excluded.result, at = excluded.at, note = excluded.note`,
		t.host.ID, t.from.ID, t.m.ID, t.m.Action, string(t.level), store.Bool(t.from.Direct), t.note, string(raw), t.place, store.Micros(t.now))
	return err
}

// answer puts the one automatic answer to a relayed message into the outbox. An
// answer is never answered with an introduction, errors and goodbyes with nothing.
func (t *turn) answer(r meeting.Result) error {
	if t.from.Direct || meeting.IsCore(t.m.Action) && t.m.Action != meeting.ActionIntroduce {
		return nil
	}
	m, ready := r.Answer()
	if t.auto != nil {
		m, ready = *t.auto, true
	}
	if !ready || t.m.RepliesTo() != "" && (m.Action == meeting.ActionIntroduce || m.Action == meeting.ActionError) {
		return nil
	}
	n, err := t.count(store.Micros(t.now.Add(-time.Hour)), `outgoing = 1 AND auto = 1`)
	if err != nil || n >= autoHour {
		return err
	}
	return t.s.enqueue(t.tx, t.host, t.place, m, true)
}

// act does what the action says.
func (t *turn) act() (meeting.Result, error) {
	m := t.m
	switch {
	case m.Action == meeting.ActionError:
		p, _ := m.ReadError() // whatever it says, it is not answered
		return m.ErrorResult(p), t.failed(p)
	case m.Action == meeting.ActionGoodbye:
		p, err := m.ReadGoodbye()
		if err != nil {
			return t.invalid(err)
		}
		return m.GoodbyeResult(p), nil
	case !meeting.SameMajor(m.ProtocolVersion):
		return m.InvalidResult(t.host.ID, meeting.CodeVersionMismatch, "Protocol version "+m.ProtocolVersion+" is not supported", t.now)
	case m.Action == meeting.ActionIntroduce:
		return t.introduce()
	}
	loaded, err := t.s.loaded(t.tx, t.host.ID)
	if err != nil {
		return meeting.Result{}, err
	}
	switch loaded.Owner[m.Action] {
	case "":
		return m.UnsupportedResult(t.host.ID, actionsOf(loaded), t.now)
	case meeting.ExtensionSkillExchange:
		return t.exchange()
	case meeting.ExtensionDiscussion, meeting.ExtensionNegotiation:
		return t.known(t.thread)
	case meeting.ExtensionEvolution:
		return t.known(t.evolve)
	}
	return t.known(t.custom)
}

// known refuses strangers.
func (t *turn) known(act func() (meeting.Result, error)) (meeting.Result, error) {
	if t.level == L2 {
		return t.m.InvalidResult(t.host.ID, meeting.CodeUnauthorized, "Prove your key first", t.now)
	}
	return act()
}

func (t *turn) invalid(err error) (meeting.Result, error) {
	return t.m.InvalidResult(t.host.ID, meeting.CodeInvalidPayload, err.Error(), t.now)
}

func (t *turn) introduce() (meeting.Result, error) {
	p, err := meeting.ReadIntroduction(t.m.Payload)
	if err != nil {
		return t.invalid(err)
	}
	loaded, err := t.s.loaded(t.tx, t.host.ID)
	if err != nil {
		return meeting.Result{}, err
	}
	in, reply, err := t.s.introduction(t.host, loaded, t.s.public(t.tx, t.host))
	if err != nil {
		return meeting.Result{}, err
	}
	t.peer.extensions, t.peer.introduced = p.Extensions, store.Micros(t.now)
	reply.To, reply.InReplyTo = &t.m.From, &t.m.ID
	return t.m.IntroduceResult(p, in.Extensions, reply), nil
}

// custom takes an action of a promoted extension: the agent reads it as data.
func (t *turn) custom() (meeting.Result, error) {
	if len(t.m.Payload) > mmp.MaxCustomPayload {
		return t.m.InvalidResult(t.host.ID, meeting.CodeInvalidPayload, "The payload is too large", t.now)
	}
	fate, err := t.keepNote(t.m.Action + " " + string(t.m.Payload))
	if err != nil {
		return meeting.Result{}, err
	}
	return meeting.Result{Status: meeting.ResultReceived, Action: t.m.Action, From: t.m.From, Fields: map[string]any{"note": fate}}, nil
}
