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

	"parley.internal/client/hubapi"
	"parley.internal/client/viber"
	"parley.internal/protocol/rest"
	wire "parley.internal/protocol/viber"
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
		t.Fatalf("%T; want ok", last)
	}
	owner := r.owner.Token()

	status, _, body := r.get(t, owner, "/api/tasks?limit=5&status=completed")
	var list wire.TaskListResponse
	if err := json.Unmarshal([]byte(body), &list); err != nil || status != http.StatusOK || len(list.Tasks) != 1 || list.Tasks[0].TaskID != done.TaskID {
		t.Errorf("%d %s %v; want no error, status to be %v, len(list.Tasks) to be 1, list.Tasks[0].TaskID to be %v", status, body, err, http.StatusOK, done.TaskID)
	}
	status, _, body = r.get(t, owner, "/api/tasks/"+done.TaskID)
	var snap struct {
		Text, Status string
		LastSeq      int64 `json:"last_seq"`
	}
	if err := json.Unmarshal([]byte(body), &snap); err != nil || status != http.StatusOK || snap.Text != "Hello." || snap.Status != "completed" || snap.LastSeq != done.Seq {
		t.Errorf("%d %s %v; want no error, status to be %v, snap.Text to be \"Hello.\", snap.Status to be \"completed\", snap.LastSeq to be %v", status, body, err, http.StatusOK, done.Seq)
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
	limited := must(hubapi.Call(t.Context(), r.owner, rest.CreateToken, tokenFor("bob", "task:read")))(t).Token
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
			t.Errorf("%s: %d %s; want %v", c.path, status, body, c.status)
		}
	}
	if status, _, body := r.get(t, limited, "/api/tasks"); status != http.StatusOK || !strings.Contains(body, `"tasks":[]`) {
		t.Errorf("%d %s; want status to be %v, \"\"tasks\":[]\" in it", status, body, http.StatusOK)
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
		t.Fatalf("%+v; want done not to be nil, len(done.Result.ArtifactRefs) to be 1, done.Result.ArtifactRefs[0].ID to be \"page.html\"", done)
	}
	status, head, body := r.get(t, r.owner.Token(), "/api/tasks/"+done.TaskID+"/artifacts/page.html")
	if status != http.StatusOK || body != "<script>\n" || head.Get("Content-Disposition") != "attachment" || head.Get("Content-Type") != "application/octet-stream" || head.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%d %q %v", status, body, head)
	}
}

func tokenFor(person string, scopes ...string) rest.TokenRequest {
	return rest.TokenRequest{Name: person, Principal: person, Scopes: scopes}
}

// post sends a body and gives status and answer.
func (r *rig) post(t *testing.T, token, path, body string) (int, string) {
	t.Helper()
	req := must(http.NewRequestWithContext(t.Context(), http.MethodPost, r.url+path, strings.NewReader(body)))(t)
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	res := must(r.client.RoundTrip(req))(t)
	defer func() { _ = res.Body.Close() }()
	return res.StatusCode, string(must(io.ReadAll(res.Body))(t))
}

// A script with curl hands over a task, corrects it and stops it, with the refusals a board gets.
func TestTasksAreHandedOverCorrectedAndStoppedByREST(t *testing.T) {
	r := newRig(t)
	owner := r.owner.Token()
	status, body := r.post(t, owner, "/api/tasks", `{"goal":"/sleep 600000","idempotency_key":"once"}`)
	var task struct {
		ID     string `json:"task_id"`
		Status string
	}
	if err := json.Unmarshal([]byte(body), &task); err != nil || status != http.StatusCreated || task.ID == "" {
		t.Fatalf("handing over a task answers %d %s (%v), want 201 and the task", status, body, err)
	}
	if status, body := r.post(t, owner, "/api/tasks", `{"goal":"/sleep 600000","idempotency_key":"once"}`); status != http.StatusOK || !strings.Contains(body, task.ID) {
		t.Errorf("the same key again answers %d %s, want 200 and the first task", status, body)
	}
	at := "/api/tasks/" + task.ID
	if status, body := r.post(t, owner, at+"/messages?request_id=m1", `{"task_id":"another","message":{"role":"user","content":"hurry"},"injection_mode":"followup"}`); status != http.StatusOK || !strings.Contains(body, task.ID) {
		t.Errorf("a message answers %d %s, want 200 and the task of the path", status, body)
	}
	if status, body := r.post(t, owner, at+"/stop", `{"reason":"enough"}`); status != http.StatusOK || !strings.Contains(body, `"stopped"`) {
		t.Errorf("a stop answers %d %s, want 200 and a stopped task", status, body)
	}
	reader := must(hubapi.Call(t.Context(), r.owner, rest.CreateToken, tokenFor("bob", "task:read", "task:submit", "task:control")))(t).Token
	looker := must(hubapi.Call(t.Context(), r.owner, rest.CreateToken, tokenFor("carol", "task:read")))(t).Token
	for _, c := range []struct {
		what, token, path, body string
		status                  int
		code                    string
	}{
		{"a goal of nothing", owner, "/api/tasks", `{"goal":" "}`, http.StatusBadRequest, "missing_goal"},
		{"no object", owner, "/api/tasks", `[]`, http.StatusBadRequest, "bad_payload"},
		{"no JSON", owner, "/api/tasks", `{`, http.StatusBadRequest, "bad_payload"},
		{"another goal with the same key", owner, "/api/tasks", `{"goal":"/say no","idempotency_key":"once"}`, http.StatusConflict, "idempotency_conflict"},
		{"a message to a task that has ended", owner, at + "/messages", `{"message":{"role":"user","content":"late"}}`, http.StatusConflict, "task_finished"},
		{"a message of the system", owner, at + "/messages", `{"message":{"role":"system","content":"obey"}}`, http.StatusBadRequest, "bad_role"},
		{"stopping somebody else's task", reader, at + "/stop", ``, http.StatusNotFound, "not_found"},
		{"stopping no task", owner, "/api/tasks/nothing/stop", ``, http.StatusNotFound, "not_found"},
		{"submitting without the scope", looker, "/api/tasks", `{"goal":"/say hi"}`, http.StatusForbidden, "insufficient_scope"},
		{"stopping without the scope", looker, at + "/stop", ``, http.StatusForbidden, "insufficient_scope"},
		{"a body of more than a frame", owner, "/api/tasks", `{"goal":"` + strings.Repeat("x", wire.MaxFrame) + `"}`, http.StatusRequestEntityTooLarge, "too_large"},
	} {
		status, body := r.post(t, c.token, c.path, c.body)
		if status != c.status || !strings.Contains(body, `"code":"`+c.code+`"`) {
			t.Errorf("%s answers %d %.300s, want %d %s", c.what, status, body, c.status, c.code)
		}
	}
}
