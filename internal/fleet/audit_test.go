package fleet_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/internal/audit"
	"parley.internal/internal/fleet"
	"parley.internal/internal/fleet/call"
	"parley.internal/internal/fleet/fault"
	"parley.internal/internal/identity"
	"parley.internal/internal/store"
	"parley.internal/protocol/kenny"
)

func TestIntentAndOutcomeAreInTheTrailWithEveryField(t *testing.T) {
	w := newWorld(t, setup{})
	w.join("pc").answers(func(*kenny.Request) (jsontext.Value, *kenny.Error) { return jsontext.Value(`{"exit_code":3}`), nil })
	who := as(identity.AtMCP, append(fullMCP, identity.FleetUnattended)...)
	who.Address = "198.51.100.4"
	done := must(w.call(who, "pc", "shell_exec", `{"script":"exit 3"}`))(t)
	must(w.fleet.Calls(t.Context(), op(), call.Filter{}))(t) // outcomes are on disk
	var intent, outcome *audit.Record
	for _, r := range w.trailOf("fleet.call") {
		switch r.Action {
		case "fleet.call.intent":
			intent = &r
		case "fleet.call":
			outcome = &r
		}
	}
	if intent == nil || outcome == nil || intent.Seq >= outcome.Seq {
		t.Fatal(intent, outcome)
	}
	for _, r := range []*audit.Record{intent, outcome} {
		if r.Actor != "person:owner" || r.OnBehalf != "" || r.Target != "pc" || len(r.Digest) != 64 {
			t.Errorf("%+v; want r.Actor to be \"person:owner\", r.OnBehalf to be \"\", r.Target to be \"pc\", len(r.Digest) to be 64", r.Entry)
		}
		for key, want := range map[string]string{"call": done.CallID, "tool": "shell_exec", "class": "M", "surface": "mcp", "token": "token-1", "address": "198.51.100.4", "hub": w.leases.ID()} {
			if r.Detail[key] != want {
				t.Errorf("%s: %q is %v", r.Action, key, r.Detail[key])
			}
		}
	}
	for _, key := range []string{"queue_ms", "result_size", "result_digest"} {
		if _, ok := outcome.Detail[key]; !ok {
			t.Errorf("no %s", key)
		}
	}
	e := must(w.fleet.Calls(t.Context(), op(), call.Filter{}))(t).Calls[0]
	if e.ExitCode == nil || *e.ExitCode != 3 || e.State != call.StateDone || e.ResultSize != 15 || e.Surface != "mcp" || e.TokenID != "token-1" {
		t.Errorf("%+v", e)
	}
}

// brokenTrail refuses what it is told to.
type brokenTrail struct {
	audit.Recorder
	intents error
}

func (b *brokenTrail) AppendTx(tx *store.Tx, entries ...audit.Entry) error {
	if b.intents != nil && entries[0].Action == "fleet.call.intent" {
		return b.intents
	}
	return b.Recorder.AppendTx(tx, entries...)
}

func TestWithoutIntentNothingIsChanged(t *testing.T) {
	broken := &brokenTrail{}
	w := newWorld(t, setup{deps: func(d *fleet.Deps) { broken.Recorder = d.Audit; d.Audit = broken }})
	m := w.join("pc").echoes()
	broken.intents = errors.New("the disk is full")
	_, err := w.call(op(), "pc", "net_dns_flush", "")
	wantCode(t, err, fault.Unavailable)
	if len(m.asked) != 0 {
		t.Error("it was sent")
	}
	if _, err := w.call(op(), "pc", "net_config", ""); err != nil {
		t.Errorf("reading needs no intent: %v", err)
	}
}

// A store that goes away between a call and its outcome must not fail the call.
func TestAFailingOutcomeWriteDoesNotFailTheCall(t *testing.T) {
	w := newWorld(t, setup{})
	m := w.join("pc").answers(func(*kenny.Request) (jsontext.Value, *kenny.Error) { return jsontext.Value(`{}`), nil })
	check(t, w.db.Write(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(`ALTER TABLE fleet_calls RENAME TO elsewhere`)
		return err
	}))
	if _, err := w.call(op(), "pc", "net_config", ""); err != nil {
		t.Errorf("%v; want no error", err)
	}
	must(w.call(op(), "pc", "net_config", ""))(t)
	check(t, w.db.Write(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(`ALTER TABLE elsewhere RENAME TO fleet_calls`)
		return err
	}))
	w.until("the spool is written", func() bool { return len(must(w.fleet.Calls(t.Context(), op(), call.Filter{}))(t).Calls) == 2 })
	m.leave()
}

func TestSecretsAreMaskedInTheCallLog(t *testing.T) {
	w := newWorld(t, setup{deps: func(d *fleet.Deps) { d.NoMirror = true }})
	w.join("pc").echoes()
	secret := "hunter2-S3cr3t"
	for _, script := range []string{
		`mysql --password=` + secret, `mysql --password ` + secret, `PASSWORD='` + secret + `' run`, `curl -H 'Authorization: Bearer ` + secret + `' https://x`,
		`curl https://alice:` + secret + `@host/x`, `$p = ConvertTo-SecureString "` + secret + `" -AsPlainText`, `export API_KEY=` + secret,
		`echo '{"token": "` + secret + `"}'`, "cat <<E\n-----BEGIN OPENSSH PRIVATE KEY-----\n" + secret + "\n-----END OPENSSH PRIVATE KEY-----\nE",
	} {
		args, err := json.Marshal(map[string]string{"script": script})
		check(t, err)
		must(w.call(op(), "pc", "shell_exec", string(args)))(t)
	}
	for _, token := range []string{"prl_0123456789012345678901234567890123456789012", "ghp_012345678901234567890123456789012345", "AKIA0123456789ABCDEF"} {
		must(w.call(op(), "pc", "shell_exec", `{"script":"use `+token+`"}`))(t)
	}
	must(w.call(op(), "pc", "fs_list", `{"path":"/home/alice/token of love"}`))(t)
	var out strings.Builder
	check(t, w.fleet.ExportCalls(t.Context(), op(), call.Filter{}, &out))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 13 {
		t.Fatalf("%d lines", len(lines))
	}
	for _, line := range lines {
		if !json.Valid([]byte(line)) || strings.Contains(line, secret) || strings.Contains(line, "0123456789012345") || strings.Contains(line, "AKIA0") {
			t.Errorf("%s", line)
		}
	}
	if !strings.Contains(out.String(), "token of love") || !strings.Contains(out.String(), "mysql") {
		t.Error("too much was masked")
	}
}

// What a machine answers goes to models, scripts and the list of queued calls: a secret of
// the hub's that lies about on a machine does not come back that way.
func TestSecretsInWhatAMachineAnswersAreMasked(t *testing.T) {
	secret := "prl_0123456789012345678901234567890123456789012"
	w := newWorld(t, setup{})
	pc := w.join("pc")
	pc.answers(func(*kenny.Request) (jsontext.Value, *kenny.Error) {
		return jsontext.Value(`{"content":"export T=` + secret + `","size":12345678}`), nil
	})
	done := must(w.call(op(), "pc", "fs_list", `{"path":"/home/alice"}`))(t)
	if got := string(done.Result); got != `{"content":"export T=[masked]","size":12345678}` {
		t.Errorf("the result is %s; expected it without the token, and otherwise as it was", got)
	}
	pc.answers(func(*kenny.Request) (jsontext.Value, *kenny.Error) {
		return nil, &kenny.Error{Code: kenny.CodeInternal, Message: "cannot read " + secret}
	})
	if _, err := w.call(op(), "pc", "fs_list", `{"path":"/home/alice"}`); err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("the error is %v; expected one without the token", err)
	}
}

func TestResultsOfSensitiveToolsAreNotKept(t *testing.T) {
	w := newWorld(t, setup{})
	w.join("pc").answers(func(*kenny.Request) (jsontext.Value, *kenny.Error) {
		return jsontext.Value(`{"content":"diary of alice"}`), nil
	})
	must(w.call(op(), "pc", "fs_read", `{"path":"/home/alice/diary"}`))(t)
	var out strings.Builder
	check(t, w.fleet.ExportCalls(t.Context(), op(), call.Filter{}, &out))
	var dump strings.Builder
	check(t, w.db.Dump(context.Background(), &dump))
	if strings.Contains(out.String()+dump.String(), "diary of alice") {
		t.Error("the content was kept")
	}
}

func TestWhatOperatorsDoIsInTheTrail(t *testing.T) {
	own := ownProgram(t)
	w := newWorld(t, setup{deps: func(d *fleet.Deps) { d.Own = own }})
	key := w.enrol("pc")
	w.connect("pc", key)
	must(w.fleet.AddRule(t.Context(), op(), kenny.Rule{ID: "r", AppliesTo: kenny.AppliesPath, Pattern: "x", Reason: "y"}))(t)
	must(w.fleet.RemoveRule(t.Context(), op(), "r"))(t)
	must(w.fleet.InstallLink(t.Context(), op(), "pc"))(t)
	_, err := w.call(op(), "pc", "fs_read", `{"path":"/etc/shadow"}`)
	wantCode(t, err, fault.Blocked)
	check(t, w.fleet.Remove(t.Context(), op(), "pc"))
	var actions []string
	for _, r := range w.trailOf("fleet.") {
		actions = append(actions, string(r.Action)+" "+r.Outcome)
	}
	for _, want := range []string{
		"fleet.machine.created ok", "fleet.token.minted ok", "fleet.enrolled ok", "fleet.rule.added ok", "fleet.rule.removed ok", "fleet.link.created ok",
		"fleet.call blocked", "fleet.machine.removed ok",
	} {
		if !slices.Contains(actions, want) {
			t.Errorf("%s is missing in %v", want, actions)
		}
	}
}

// What was under way when a hub was killed stayed "sent" in the call log for ever.
func TestACallUnderWayWhenItsHubDiedIsLost(t *testing.T) {
	onBoth(t, func(t *testing.T, db *store.DB) {
		w := newWorld(t, setup{db: db})
		w.join("pc").echoes()
		done := must(w.call(op(), "pc", "net_dns_flush", ""))(t)
		w.until("the outcome is written", func() bool {
			return must(w.fleet.Calls(t.Context(), op(), call.Filter{}))(t).Calls[0].State == call.StateDone
		})
		w.stop()
		check(t, db.Write(t.Context(), func(tx *store.Tx) error { // as a hub leaves it that is killed before the answer comes
			_, err := tx.Exec(`UPDATE fleet_calls SET state = 'sent', code = '', message = '' WHERE id = ?`, done.CallID)
			return err
		}))
		again := newWorld(t, setup{db: db, key: w.key})
		again.until("the call is lost", func() bool {
			c := must(again.fleet.Calls(t.Context(), op(), call.Filter{}))(t).Calls[0]
			return c.CallID == done.CallID && c.State == call.StateLost && c.Code == fault.Lost && strings.Contains(c.Message, "not repeated")
		})
		lost := 0
		for _, r := range again.trailOf("fleet.call") {
			if r.Outcome == string(fault.Lost) && r.Target == "pc" && r.Detail["call"] == done.CallID {
				lost++
			}
		}
		if lost != 1 {
			t.Errorf("the trail tells %d times that the call was lost, not once", lost)
		}
	})
}
