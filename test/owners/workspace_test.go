//go:build linux

package owners_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// home is a person's folder, which their first task makes.
func (h *hub) home(name, token string) string {
	h.t.Helper()
	h.write("workspace/unused", "")
	_ = h.task(token, "file_list .")
	var people struct {
		People []struct{ ID, Name string }
	}
	a := h.Do("GET", "/api/people", "")
	if err := json.Unmarshal(a.Body, &people); err != nil {
		h.t.Fatalf("the people of the hub: %v: %s", err, a.Body)
	}
	for _, p := range people.People {
		if p.Name == name {
			return h.Path("workspaces/person-" + p.ID)
		}
	}
	h.t.Fatalf("nobody is named %s: %s", name, a.Body)
	return ""
}

// Everybody's agents worked in one folder: whoever could submit a task read and changed the
// files of all others, without being asked.
func TestNobodysAgentReachesTheFilesOfSomebodyElse(t *testing.T) {
	h := start(t)
	alice, bob := h.person("alice"), h.person("bob", "task:unattended")
	hers, his := h.home("alice", alice), h.home("bob", bob)
	h.write("workspace/owner.txt", "diary of the owner")
	if err := os.WriteFile(filepath.Join(hers, "diary.txt"), []byte("diary of alice"), 0o600); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"hers": hers, "owners": h.Path("workspace"), "up": "..", "diary": filepath.Join(hers, "diary.txt")} {
		if err := os.Symlink(to, filepath.Join(his, link)); err != nil {
			t.Fatal(err)
		}
	}
	aliceID := filepath.Base(hers)
	seen, _ := h.parley(bob, "task", "submit", "--mode", "always_execute", "--watch", "--json", strings.Join([]string{
		"file_read diary.txt", "file_read ../" + aliceID + "/diary.txt", "file_read " + hers + "/diary.txt", "file_read hers/diary.txt", "file_read diary",
		"file_read owners/owner.txt", "file_read up/" + aliceID + "/diary.txt", "file_read " + h.Path("workspace/owner.txt"), "file_list ..", "file_list hers",
		"shell cat " + hers + "/diary.txt hers/diary.txt diary up/*/diary.txt owners/owner.txt ../../workspace/owner.txt; ls ..; true",
		"shell echo of bob > " + hers + "/planted.txt; echo of bob > owners/planted.txt; echo of bob > own.txt; pwd; echo $HOME",
	}, "\n"))
	for _, diary := range []string{"diary of alice", "diary of the owner"} {
		if strings.Contains(seen, diary) || strings.Contains(h.model.Sent(), diary) {
			t.Errorf("the agent of bob read the %s: %s", diary, seen)
		}
	}
	for _, planted := range []string{filepath.Join(hers, "planted.txt"), h.Path("workspace/planted.txt")} {
		if _, err := os.Stat(planted); err == nil {
			t.Errorf("the agent of bob wrote %s", planted)
		}
	}
	if own, err := os.ReadFile(filepath.Join(his, "own.txt")); err != nil || string(own) != "of bob\n" {
		t.Errorf("bob's agent works in bob's folder, where own.txt is %q (%v): %s", own, err, seen)
	}
}

// A conversation is had by somebody, too, and an agent that is asked for help by another
// works where the person's own does.
func TestAConversationWorksInTheFolderOfWhoeverHasIt(t *testing.T) {
	h := start(t)
	alice, bob := h.person("alice"), h.person("bob")
	hers := h.home("alice", alice)
	if err := os.WriteFile(filepath.Join(hers, "diary.txt"), []byte("diary of alice"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.parley(bob, "chat", "parley", "-m", "file_read diary.txt\nfile_read "+hers+"/diary.txt")
	if sent := h.model.Sent(); strings.Contains(sent, "diary of alice") {
		t.Errorf("bob's conversation read what alice wrote: %s", sent)
	}
	h.parley(alice, "chat", "parley", "-m", "file_read diary.txt")
	if sent := h.model.Sent(); !strings.Contains(sent, "diary of alice") {
		t.Errorf("alice's own conversation must read her file; the model was sent %s", sent)
	}
}

// What a task hands over is for whoever may see the task.
func TestOnlyWhoeverMaySeeATaskGetsWhatItHandsOver(t *testing.T) {
	h := start(t)
	alice, bob := h.person("alice"), h.person("bob")
	hers := h.home("alice", alice)
	out := h.task(alice, "file_list .")
	var started struct {
		Payload struct {
			Task string `json:"task_id"`
		}
	}
	line, _, _ := strings.Cut(out, "\n")
	if err := json.Unmarshal([]byte(line), &started); err != nil || started.Payload.Task == "" {
		t.Fatalf("no task: %v: %s", err, out)
	}
	task := started.Payload.Task
	dir := filepath.Join(hers, "artifacts", task)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "report.txt"), []byte("report for alice"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../../secret.txt", filepath.Join(dir, "link.txt")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(hers, "secret.txt"), []byte("not handed over"), 0o600); err != nil {
		t.Fatal(err)
	}
	path := "/api/tasks/" + task + "/artifacts/"
	if a := h.As(alice, "GET", path+"report.txt", ""); a.Status != 200 || string(a.Body) != "report for alice" {
		t.Errorf("alice gets her own task's report: %d %s", a.Status, a.Body)
	}
	if a := h.As(alice, "GET", path+"link.txt", ""); a.Status != 404 {
		t.Errorf("a link out of what was handed over leads nowhere: %d %s", a.Status, a.Body)
	}
	for _, name := range []string{"report.txt", "link.txt", "../../diary.txt"} {
		if a := h.As(bob, "GET", path+name, ""); a.Status != 404 || strings.Contains(string(a.Body), "alice") {
			t.Errorf("bob asks for %s of alice's task: %d %s, expected 404", name, a.Status, a.Body)
		}
	}
}
