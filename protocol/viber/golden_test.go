package viber_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"parley.internal/protocol/viber"
)

// frame is one file of a transcript: "… client|server TYPE…".
type frame struct {
	name   string
	client bool
	data   []byte
}

func frames(tb testing.TB, file string) []frame {
	tb.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", file))
	if err != nil {
		tb.Fatal(err)
	}
	var out []frame
	for _, f := range archive.Files {
		out = append(out, frame{f.Name, strings.Contains(f.Name, "client "), []byte(strings.TrimSpace(string(f.Data)))})
	}
	return out
}

func (f frame) decode() (viber.Message, error) {
	if f.client {
		return viber.DecodeFromClient(f.data)
	}
	return viber.DecodeFromServer(f.data)
}

func canonical(t *testing.T, data []byte) string {
	t.Helper()
	v := jsontext.Value(data).Clone()
	if err := v.Canonicalize(); err != nil {
		t.Fatal(err)
	}
	return string(v)
}

func TestEveryMessageKeepsEveryField(t *testing.T) {
	for _, file := range []string{"messages.txtar", "one-run.txtar"} {
		for _, f := range frames(t, file) {
			t.Run(f.name, func(t *testing.T) {
				m, err := f.decode()
				if err != nil {
					t.Fatal(err)
				}
				if m.Type != m.Body.Type() || !strings.Contains(f.name, string(m.Type)) {
					t.Errorf("type %q, body %q", m.Type, m.Body.Type())
				}
				again, err := viber.Encode(viber.Header{ID: m.ID, At: m.Timestamp, ReplyTo: m.ReplyTo}, m.Body)
				if err != nil {
					t.Fatal(err)
				}
				want := canonical(t, f.data)
				if diff := cmp.Diff(want, canonical(t, again)); diff != "" {
					t.Error(diff)
				}
				raw, err := m.Envelope.Encode()
				if err != nil || canonical(t, raw) != want {
					t.Errorf("envelope %s, %v", raw, err)
				}
			})
		}
	}
}

func TestTranscriptsCoverEveryType(t *testing.T) {
	seen := map[bool]map[viber.Type]bool{true: {}, false: {}}
	for _, f := range frames(t, "messages.txtar") {
		m, err := f.decode()
		if err != nil {
			t.Fatal(err)
		}
		seen[f.client][m.Type] = true
	}
	for _, typ := range viber.ClientTypes() {
		if !seen[true][typ] {
			t.Errorf("no example of a client's %s", typ)
		}
	}
	for _, typ := range viber.ServerTypes() {
		if !seen[false][typ] {
			t.Errorf("no example of a server's %s", typ)
		}
	}
}

func TestOneRunObeysTheProtocol(t *testing.T) {
	var seq int64
	var text string
	var joiner viber.ArgumentJoiner[string]
	var approved string
	for i, f := range frames(t, "one-run.txtar") {
		m, err := f.decode()
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := m.Body.(viber.TaskEvent); ok && e.Ref().Seq != 0 {
			seq++
			if e.Ref().Seq != seq {
				t.Errorf("frame %d has seq %d, want %d", i+1, e.Ref().Seq, seq)
			}
		}
		switch p := m.Body.(type) {
		case *viber.TaskDelta:
			text += p.Text
			if c := p.ToolCall; c != nil {
				if err := joiner.Add(c.ID, c.ID, c.Name, c.Arguments); err != nil {
					t.Fatal(err)
				}
			}
		case *viber.ApprovalRequired:
			approved = string(p.ToolCall.Arguments)
		case *viber.TaskCompleted:
			if p.Result.Text != text || p.Result.Summary != viber.Summary(text) || !viber.Ends(p) {
				t.Errorf("result %+v after %q", p.Result, text)
			}
		}
	}
	if calls := joiner.Calls(); len(calls) != 1 || calls[0].Arguments != approved {
		t.Errorf("joined %+v, approved %s", calls, approved)
	}
}
