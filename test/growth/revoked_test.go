//go:build linux

package growth_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley.internal/test/hubtest"
)

// unattended is a task that need not ask and is in the middle of its first command.
type unattended struct {
	*hubtest.Hub
	t            *testing.T
	token, task  string // ids
	secret, here string
}

func startUnattended(t *testing.T, next string) *unattended {
	t.Helper()
	u := &unattended{Hub: hubtest.Start(t, hubtest.Config{}), t: t}
	u.token, u.secret = u.mint("task", "task:unattended")
	goal := command("touch here; until [ -e go ]; do sleep 0.05; done") + next
	var task struct {
		ID string `json:"task_id"`
	}
	u.read(u.As(u.secret, "POST", "/api/tasks", quoted(map[string]any{"goal": goal, "messages": []any{}, "options": map[string]any{"mode": "always_execute"}})), &task)
	u.task = task.ID
	hubtest.Eventually(t, "the first command runs", func() bool { u.here = u.folderOf("here"); return u.here != "" })
	return u
}

func (u *unattended) mint(scopes ...string) (id, secret string) {
	u.t.Helper()
	var made struct{ ID, Token string }
	u.read(u.Do("POST", "/api/tokens", quoted(map[string]any{"name": "test", "scopes": scopes})), &made)
	return made.ID, made.Token
}

// goOn lets the first command end, and waits until the task asks about another, or is over.
func (u *unattended) goOn(next string) {
	u.t.Helper()
	if err := os.WriteFile(filepath.Join(u.here, "go"), nil, 0o600); err != nil {
		u.t.Fatal(err)
	}
	hubtest.Eventually(u.t, "the task asks or ends", func() bool {
		var is struct{ Status string }
		u.read(u.Do("GET", "/api/tasks/"+u.task, ""), &is)
		return is.Status != "running" && is.Status != "paused" || strings.Contains(string(u.Do("GET", "/api/approvals", "").Body), next)
	})
}

// folderOf is the folder of a workspace that holds a file; empty if none does.
func (u *unattended) folderOf(name string) (folder string) {
	_ = filepath.WalkDir(u.Path("workspace"), func(path string, _ os.DirEntry, err error) error {
		if err == nil && filepath.Base(path) == name {
			folder = filepath.Dir(path)
		}
		return nil // a file that has just gone is no matter
	})
	return folder
}

func (u *unattended) read(a hubtest.Answer, into any) {
	u.t.Helper()
	if a.Status > 299 || into != nil && json.Unmarshal(a.Body, into) != nil {
		u.t.Fatalf("%d %s", a.Status, a.Body)
	}
}

func quoted(v any) string {
	raw, _ := json.Marshal(v) // strings and maps of them
	return string(raw)
}

func command(text string) string {
	return "/tool shell " + quoted(map[string]string{"command": text}) + "\n"
}

// A task that needed not ask went on without asking after the token was revoked that it
// came with: what was revoked in a hurry went on changing things.
func TestATaskOfARevokedTokenAsksFromThenOn(t *testing.T) {
	u := startUnattended(t, command("touch on")+"/say done")
	u.read(u.Do("DELETE", "/api/tokens/"+u.token, ""), nil)
	u.goOn("touch on")
	if u.folderOf("on") != "" {
		t.Error("the second command ran unasked, with a token that was revoked before")
	}
}

// Whoever may only correct tasks told one that needed not ask what to do, and it was done
// unasked: the task had more than whose words it followed.
func TestAWeakerTokensWordsAreAskedAbout(t *testing.T) {
	for _, mode := range []string{"steer", "followup"} {
		t.Run(mode, func(t *testing.T) {
			u := startUnattended(t, "/say done")
			_, weak := u.mint("task:read", "task:control")
			u.read(u.As(weak, "POST", "/api/tasks/"+u.task+"/messages", quoted(map[string]any{
				"task_id": u.task, "injection_mode": mode, "message": map[string]any{"role": "user", "content": command("touch told")},
			})), nil)
			u.goOn("touch told")
			if u.folderOf("told") != "" {
				t.Error("words of a token without task:unattended were followed unasked")
			}
		})
	}
}
