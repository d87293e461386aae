package fleet_test

import (
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/internal/approval"
	"parley.internal/internal/fleet"
	"parley.internal/internal/fleet/call"
	"parley.internal/internal/fleet/fault"
	"parley.internal/internal/fleet/update"
	"parley.internal/internal/identity"
	"parley.internal/internal/judge"
	"parley.internal/protocol/kenny"
)

// The owner's rules bound tasks alone: on a page, and with a yes in an MCP client, the
// same call ran with nobody else's word.
func TestARuleBindsMachinesWhateverWayACallComes(t *testing.T) {
	w := newWorld(t, setup{deps: func(d *fleet.Deps) {
		d.Rules = judge.Rules{{Tools: []string{"net_dns_*"}, Need: judge.Need{Quorum: 1, Policy: approval.Policy{NotAsker: true}}}}
	}})
	m := w.join("pc").echoes()
	for name, who := range map[string]identity.Actor{
		"a person on their page": op(), "a program": as(identity.AtAPI, fullMCP...), "an MCP client": as(identity.AtMCP, fullMCP...),
		"a token that is not asked": as(identity.AtAPI, append(fullMCP, identity.FleetUnattended)...), "an agent": as(identity.InConversation, fullMCP...),
	} {
		seen := make(chan call.Question, 1)
		_, err := w.fleet.Call(t.Context(), who, call.Request{
			Machine: "pc", Tool: "net_dns_flush", ApprovalWait: time.Millisecond, Approver: clientApprover{seen, call.Decision{Approved: true}, nil},
		})
		if fault.CodeOf(err) != fault.ApprovalPending || len(seen) != 0 || len(m.asked) != 0 {
			t.Errorf("%s: %v, asked in the client %d times, ran %d times; the rule wants somebody else's word in the inbox", name, err, len(seen), len(m.asked))
		}
	}
	if _, err := w.call(op(), "pc", "net_config", ""); err != nil {
		t.Errorf("what the rule does not name: %v", err)
	}
}

// Updating a machine changes it, and a script with fleet:admin did so unasked: one
// machine, or all of them by a roll-out.
func TestAnUpdateByAProgramWaitsForAPerson(t *testing.T) {
	w := newWorld(t, setup{})
	m := w.join("pc").answers(func(*kenny.Request) (jsontext.Value, *kenny.Error) {
		return jsontext.Value(`{"ok":true,"staged_version":"2.0.0"}`), nil
	})
	must(w.fleet.AddBinary(t.Context(), op(), release(newKey(), "2.0.0", "linux-amd64", []byte(strings.Repeat("program ", 1000)))))(t)
	script := as(identity.AtAPI, identity.FleetAdmin, identity.FleetRead)
	for name, update := range map[string]func() error{
		"one machine": func() error { _, err := w.fleet.Update(t.Context(), script, "pc", ""); return err },
		"a roll-out": func() error {
			_, err := w.fleet.StartRollout(t.Context(), script, update.RolloutRequest{All: true})
			return err
		},
	} {
		done := make(chan error, 1)
		go func() { done <- update() }()
		w.decide(w.pending().ID, false, "not today")
		if err := <-done; fault.CodeOf(err) != fault.Denied || len(m.asked) != 0 {
			t.Errorf("%s: %v, sent %d times; a person said no", name, err, len(m.asked))
		}
	}
	done := make(chan error, 1)
	go func() { _, err := w.fleet.Update(t.Context(), script, "pc", ""); done <- err }()
	w.decide(w.pending().ID, true, "")
	if err := <-done; err != nil || len(m.asked) != 1 {
		t.Errorf("a person said yes: %v, sent %d times", err, len(m.asked))
	}
}
