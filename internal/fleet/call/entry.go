package call

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/internal/fit"
	"parley.internal/internal/store"
	"parley.internal/protocol/rest"
)

// Entry is one row of the call log.
type Entry = rest.LoggedCall

// Approval is how a call was approved.
type Approval = rest.CallApproval

// Filter chooses rows of the call log, newest first.
type Filter struct {
	Machine, Tool, Actor string
	States               []State
	Since, Until         time.Time
	// Cursor continues after a page; Limit is 200 if 0, at most 500.
	Cursor string
	Limit  int
}

// Page is a page of the call log.
type Page = rest.Calls

const callColumns = `id, at, machine, tool, class, actor, on_behalf, surface, token_id, address, hub, digest, args, approval,
	state, code, message, exit_code, duration, queued, result_size, result_digest`

func scanCall(row store.Row) (Entry, error) {
	var e Entry
	var at int64
	var args, app, exit string
	err := row.Scan(&e.CallID, &at, &e.Machine, &e.Tool, &e.Class, &e.Actor, &e.OnBehalf, &e.Surface, &e.TokenID, &e.Address, &e.Hub, &e.Digest, &args, &app,
		&e.State, &e.Code, &e.Message, &exit, &e.DurationMS, &e.QueueMS, &e.ResultSize, &e.ResultDigest)
	if err != nil {
		return e, err
	}
	e.At, e.Args = store.Time(at), jsontext.Value(args)
	if app != "" {
		if err := json.Unmarshal([]byte(app), &e.Approval); err != nil {
			return e, err
		}
	}
	if n, err := strconv.Atoi(exit); err == nil {
		e.ExitCode = &n
	}
	return e, nil
}

// putCalls writes many rows at a time; a call that is in the list twice has its
// later row after the earlier.
func putCalls(tx *store.Tx, calls []Entry) error {
	seen := make(map[string]bool, len(calls))
	for _, e := range calls {
		seen[e.CallID] = true
	}
	if len(seen) == len(calls) {
		return putCall(tx, calls...)
	}
	for _, e := range calls {
		if err := putCall(tx, e); err != nil {
			return err
		}
	}
	return nil
}

// putCall writes rows of the call log, or what is new about them; each call once.
func putCall(tx *store.Tx, calls ...Entry) error {
	args := make([]any, 0, 22*len(calls))
	for _, e := range calls {
		exit, app := "", ""
		if e.ExitCode != nil {
			exit = strconv.Itoa(*e.ExitCode)
		}
		if e.Approval != nil {
			raw, err := json.Marshal(e.Approval)
			if err != nil {
				return err
			}
			app = string(raw)
		}
		args = append(args, e.CallID, store.Micros(e.At), e.Machine, e.Tool, string(e.Class), fit.Storable(e.Actor), fit.Storable(e.OnBehalf), e.Surface, e.TokenID,
			e.Address, e.Hub, e.Digest, fit.Storable(string(e.Args)), app, string(e.State), string(e.Code), fit.Storable(e.Message), exit, e.DurationMS, e.QueueMS,
			e.ResultSize, e.ResultDigest)
	}
	return newCalls.Exec(tx, args)
}

var newCalls = store.ManyRows(`INSERT INTO fleet_calls (id, at, machine, tool, class, actor, on_behalf, surface, token_id, address, hub, digest, args, approval,
		state, code, message, exit_code, duration, queued, result_size, result_digest) VALUES `,
	`(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
	` ON CONFLICT (id) DO UPDATE SET approval = excluded.approval, state = excluded.state, code = excluded.code, message = excluded.message, exit_code = excluded.exit_code,
		duration = excluded.duration, queued = excluded.queued, result_size = excluded.result_size, result_digest = excluded.result_digest`)
