package work

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"time"

	"github.com/go-json-experiment/json"

	"parley.internal/internal/approval"
	"parley.internal/internal/brain/model"
	"parley.internal/internal/identity"
	"parley.internal/internal/store"
	"parley.internal/protocol/viber"
)

// spec is what a task was submitted with. It never changes.
type spec struct {
	Key     string            `json:"key"`
	Attempt int               `json:"attempt"`
	Mode    viber.Mode        `json:"mode"` // the effective one
	Submit  *viber.TaskSubmit `json:"submit"`
	Origin  string            `json:"origin,omitzero"`

	// By is who submitted it.
	By identity.Actor `json:"actor"`
	// OwnFolder: what it hands over is in its person's folder. Tasks from before people
	// had folders of their own left it in the one that everybody shared.
	OwnFolder bool `json:"own_folder,omitzero"`
	// Files are those of the hub that were handed over.
	Files []model.File `json:"files,omitzero"`
}

// state is what of a running task another hub needs to go on with it, besides its
// history.
type state struct {
	Steps    int              `json:"steps,omitzero"`   // model calls of this turn
	Opening  int              `json:"opening,omitzero"` // messages of the history that were sent with the task
	Plan     *viber.Plan      `json:"plan,omitzero"`
	Phase    viber.Phase      `json:"phase,omitzero"`
	Touched  []string         `json:"touched,omitzero"` // plan steps the agent changed
	Expiries int              `json:"expiries,omitzero"`
	Warned   []string         `json:"warned,omitzero"` // budgets that were warned of
	Raised   map[string]int64 `json:"raised,omitzero"` // budgets that were extended, in micros
	Skills   []string         `json:"skills,omitzero"` // skills in use
	LogBytes int              `json:"log_bytes,omitzero"`
	Tainted  bool             `json:"tainted,omitzero"` // this turn has read words of strangers
	Taint    *approval.Taint  `json:"taint,omitzero"`   // since when, and whose
	Hosts    []string         `json:"hosts,omitzero"`   // that were fetched from, before that or with a yes
	// WaitsSince is since when the task only waits for a person, WaitedMicros how long it
	// did before.
	WaitsSince   time.Time `json:"waits_since,omitzero"`
	WaitedMicros int64     `json:"waited_micros,omitzero"`
	// Revived counts how often the task was taken over without getting anywhere.
	Revived int `json:"revived,omitzero"`
	// Reach is what the task's agent may do for its person: the submitter's, narrowed by
	// everybody who spoke to the task since.
	Reach identity.Scopes `json:"reach,omitzero"`
	// Others tells that somebody else than its person has spoken to the task, or a model
	// over MCP: no standing rule answers then.
	Others bool `json:"others,omitzero"`
	// Session is what an agent that is a program of its own needs to find its session again.
	Session string `json:"session,omitzero"`
}

// record is a task's row.
type record struct {
	id        string
	principal string
	agent     string
	status    viber.TaskStatus
	started   time.Time
	ended     time.Time
	pending   int
	keyHash   string
	goal      string
	spec      spec
	turn      int
	text      string
	textSeq   int64
	usage     model.Usage
	state     state
	endKind   viber.Type
	endEvent  []byte
}

const recordColumns = `id, principal, agent, status, started_at, ended_at, pending, key_hash, goal, spec, turn, text, text_seq, usage, state, end_kind, end_event`

func loadRecord(tx *store.Tx, id string) (r record, err error) {
	var started, ended int64
	var goal, rawSpec, text, rawState []byte
	var usage string
	err = tx.QueryRow(`SELECT `+recordColumns+` FROM work_tasks WHERE id = ?`, id).Scan(&r.id, &r.principal, &r.agent, &r.status,
		&started, &ended, &r.pending, &r.keyHash, &goal, &rawSpec, &r.turn, &text, &r.textSeq, &usage, &rawState, &r.endKind, &r.endEvent)
	if errors.Is(err, sql.ErrNoRows) {
		return r, ErrNotFound
	}
	if err != nil {
		return r, err
	}
	r.started, r.ended, r.goal, r.text = store.Time(started), store.Time(ended), string(goal), string(text)
	return r, errors.Join(json.Unmarshal(rawSpec, &r.spec), json.Unmarshal([]byte(usage), &r.usage), json.Unmarshal(rawState, &r.state))
}

// insert writes a new task.
func (r *record) insert(tx *store.Tx) error {
	rawSpec, err := json.Marshal(&r.spec)
	if err != nil {
		return err
	}
	rawState, usage, err := r.encodeState()
	if err != nil {
		return err
	}
	_, err = tx.Exec(`INSERT INTO work_tasks (id, principal, agent, status, started_at, ended_at, key_hash, goal, spec, turn, text, text_seq, usage, state)
		VALUES (?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?)`,
		r.id, r.principal, r.agent, string(r.status), store.Micros(r.started), r.keyHash, []byte(r.goal), rawSpec,
		r.turn, []byte(r.text), r.textSeq, usage, rawState)
	return err
}

// update writes what changes while a task runs.
func (r *record) update(tx *store.Tx) error {
	rawState, usage, err := r.encodeState()
	if err != nil {
		return err
	}
	_, err = tx.Exec(`UPDATE work_tasks SET status = ?, pending = ?, turn = ?, text = ?, text_seq = ?, usage = ?, state = ? WHERE id = ?`,
		string(r.status), r.pending, r.turn, []byte(r.text), r.textSeq, usage, rawState, r.id)
	return err
}

// end writes how the task ended. The text is in its last event.
func (r *record) end(tx *store.Tx) error {
	rawState, usage, err := r.encodeState()
	if err != nil {
		return err
	}
	_, err = tx.Exec(`UPDATE work_tasks SET status = ?, pending = ?, turn = ?, text = ?, text_seq = ?, usage = ?, state = ?, ended_at = ?, end_kind = ?, end_event = ? WHERE id = ?`,
		string(r.status), r.pending, r.turn, []byte{}, r.textSeq, usage, rawState, store.Micros(r.ended), string(r.endKind), r.endEvent, r.id)
	return err
}

// endText is the text of the turn in which the task ended.
func (r *record) endText() (string, error) {
	if r.text != "" {
		return r.text, nil // of a hub that kept it twice
	}
	ev, err := r.endEventAt(0)
	if err != nil {
		return "", err
	}
	switch ev := ev.(type) {
	case *viber.TaskCompleted:
		return ev.Result.Text, nil
	case *viber.TaskError:
		return partial(ev.PartialResult), nil
	case *viber.TaskStopped:
		return partial(ev.PartialResult), nil
	}
	return "", nil
}

func partial(p *viber.PartialResult) string {
	if p == nil {
		return ""
	}
	return p.Text
}

func (r *record) encodeState() (raw []byte, usage string, err error) {
	u, err := json.Marshal(r.usage)
	if err != nil {
		return nil, "", err
	}
	raw, err = json.Marshal(&r.state)
	return raw, string(u), err
}

// endEventAt is the task's last event.
func (r *record) endEventAt(seq int64) (viber.TaskEvent, error) {
	ev, err := decodePayload(r.endKind, r.endEvent)
	if err != nil {
		return nil, err
	}
	ref := ev.Ref()
	ref.TaskID, ref.Seq, ref.At = r.id, seq, r.ended
	return ev, nil
}

// startedEvent is the task's first event.
func (r *record) startedEvent() *viber.TaskStarted {
	return &viber.TaskStarted{
		TaskRef: viber.TaskRef{TaskID: r.id, Seq: 1, Turn: 1, At: r.started}, IdempotencyKey: r.spec.Key, StartedAt: viber.At(r.started),
		EffectiveMode: r.spec.Mode, Agent: r.agent, Attempt: r.spec.Attempt,
	}
}

func wireUsage(u model.Usage) viber.Usage { return viber.NewUsage(u.Prompt, u.Completion, costOf(u)) }

// costOf is nil while the cost is not known.
func costOf(u model.Usage) *float64 {
	if !u.CostKnown {
		return nil
	}
	usd := usd(u.CostMicros)
	return &usd
}

func usd(micros int64) float64 { return float64(micros) / 1e6 }

// streamName is the task's event stream, leaseName its lease.
func streamName(task string) string { return "task." + task }
func leaseName(task string) string  { return "task." + task }

// keyHash is what a principal's key is stored as.
func keyHash(principal, key string) string {
	sum := sha256.Sum256([]byte(principal + "\x00" + key))
	return hex.EncodeToString(sum[:])
}

// find reads a task that the caller may know of. Another's is not found.
func (w *Work) find(ctx context.Context, who identity.Actor, id string) (r record, err error) {
	err = w.d.DB.Read(ctx, func(tx *store.Tx) error {
		r, err = loadRecord(tx, id)
		return err
	})
	if err != nil {
		return record{}, err
	}
	if !who.Owns(r.principal) {
		return record{}, ErrNotFound
	}
	return r, nil
}
