package api_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/client/hubapi"
	"parley/client/viber"
	wire "parley/protocol/viber"
)

// get asks the hub and gives status and body.
func (r *rig) get(t *testing.T, token, path string) (int, http.Header, string) {
	t.Helper()
	req := must(http.NewRequestWithContext(t.Context(), http.MethodGet, r.url+path, nil))(t)
	req.Header.Set("Authorization", "Bearer "+token)
	res := must(r.client.RoundTrip(req))(t)
	defer func() { _ = res.Body.Close() }()
	return res.StatusCode, res.Header, string(must(io.ReadAll(res.Body))(t))
}

func TestTasksByREST(t *testing.T) {
	r := newRig(t)
	board := must(viber.Dial(t.Context(), "ws"+strings.TrimPrefix(r.url, "http")+"/ws", viber.Options{Token: r.owner.Token()}))(t)
	defer func() { _ = board.Close() }()
	task := must(board.Submit(t.Context(), &wire.TaskSubmit{
		Goal: "/say Hello.", Options: &wire.TaskOptions{StreamDeltas: true, Mode: wire.AlwaysExecute},
	}))(t)
	var last wire.Payload
	for m, err := range task.Events(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		last = m.Body
	}
	done, ok := last.(*wire.TaskCompleted)
	if !ok {
		t.Fatalf("%T", last)
	}
	owner := r.owner.Token()

	status, _, body := r.get(t, owner, "/api/tasks?limit=5&status=completed")
	var list wire.TaskListResponse
	if err := json.Unmarshal([]byte(body), &list); err != nil || status != http.StatusOK || len(list.Tasks) != 1 || list.Tasks[0].TaskID != done.TaskID {
		t.Errorf("%d %s %v", status, body, err)
	}
	status, _, body = r.get(t, owner, "/api/tasks/"+done.TaskID)
	var snap struct {
		Text, Status string
		LastSeq      int64 `json:"last_seq"`
	}
	if err := json.Unmarshal([]byte(body), &snap); err != nil || status != http.StatusOK || snap.Text != "Hello." || snap.Status != "completed" || snap.LastSeq != done.Seq {
		t.Errorf("%d %s %v", status, body, err)
	}
	status, head, body := r.get(t, owner, "/api/tasks/"+done.TaskID+"/events?after=1")
	lines, seq := bufio.NewScanner(strings.NewReader(body)), int64(1)
	for lines.Scan() {
		var ev struct {
			Type    string
			Payload struct{ Seq int64 }
		}
		if err := json.Unmarshal(lines.Bytes(), &ev); err != nil || ev.Payload.Seq != seq+1 || ev.Type == "" {
			t.Errorf("%s: %v", lines.Text(), err)
		}
		seq++
	}
	if status != http.StatusOK || seq != done.Seq || head.Get("Content-Type") != "application/jsonl" {
		t.Errorf("%d, %d events, %v", status, seq, head)
	}
	limited := must(r.owner.CreateToken(t.Context(), tokenFor("bob", "task:read")))(t).Token
	for _, c := range []struct {
		token, path string
		status      int
	}{
		{owner, "/api/tasks/none", http.StatusNotFound},
		{owner, "/api/tasks/" + done.TaskID + "/artifacts/none", http.StatusNotFound},
		{owner, "/api/tasks/" + done.TaskID + "/artifacts/..%2f..%2fx", http.StatusNotFound},
		{owner, "/api/tasks/" + done.TaskID + "/events?after=999", http.StatusBadRequest},
		{owner, "/api/tasks/" + done.TaskID + "/events?after=x", http.StatusBadRequest},
		{owner, "/api/tasks?limit=0", http.StatusBadRequest},
		{owner, "/api/tasks?status=odd", http.StatusBadRequest},
		{owner, "/api/tasks?cursor=odd", http.StatusBadRequest},
		{limited, "/api/tasks/" + done.TaskID, http.StatusNotFound},
		{limited, "/api/tasks/" + done.TaskID + "/events", http.StatusNotFound},
		{r.alice.Token(), "/api/tasks", http.StatusForbidden},
	} {
		if status, _, body := r.get(t, c.token, c.path); status != c.status {
			t.Errorf("%s: %d %s", c.path, status, body)
		}
	}
	if status, _, body := r.get(t, limited, "/api/tasks"); status != http.StatusOK || !strings.Contains(body, `"tasks":[]`) {
		t.Errorf("%d %s", status, body)
	}
}

func TestAnArtifactIsAFileAndNothingThatRuns(t *testing.T) {
	r := newRig(t)
	board := must(viber.Dial(t.Context(), "ws"+strings.TrimPrefix(r.url, "http")+"/ws", viber.Options{Token: r.owner.Token()}))(t)
	defer func() { _ = board.Close() }()
	first := must(board.Submit(t.Context(), &wire.TaskSubmit{
		Goal: "/tool ask_user {\"questions\":[{\"question\":\"Made?\"}]}\n/say made",
	}))(t)
	dir := filepath.Join(r.dir, "workspace", "artifacts", first.ID())
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "page.html"), []byte("<script>\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	var done *wire.TaskCompleted
	for m, err := range first.Events(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		switch p := m.Body.(type) {
		case *wire.TaskCompleted:
			done = p
		case *wire.ApprovalRequired:
			must(board.Approve(t.Context(), p.ApprovalID))(t)
		}
	}
	if done == nil || len(done.Result.ArtifactRefs) != 1 || done.Result.ArtifactRefs[0].ID != "page.html" {
		t.Fatalf("%+v", done)
	}
	status, head, body := r.get(t, r.owner.Token(), "/api/tasks/"+done.TaskID+"/artifacts/page.html")
	if status != http.StatusOK || body != "<script>\n" || head.Get("Content-Disposition") != "attachment" || head.Get("Content-Type") != "application/octet-stream" || head.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%d %q %v", status, body, head)
	}
}

func tokenFor(person string, scopes ...string) hubapi.TokenRequest {
	return hubapi.TokenRequest{Name: person, Principal: person, Scopes: scopes}
}
