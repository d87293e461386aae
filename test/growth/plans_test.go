//go:build linux

package growth_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"parley.internal/client/agentfirst"
	agentwire "parley.internal/protocol/agentfirst"
)

// plan is a schedule of somebody.
type plan struct {
	by *person
	id uint64
}

// GoString is how a drawn one is shown in a failure.
func (p *plan) GoString() string { return fmt.Sprint("schedule ", p.id, " of ", p.by.name) }

// Plan makes a schedule in a conversation of somebody, oneself or another.
func (r *run) Plan(t *rapid.T) {
	by, as := r.usable("by"), rapid.SampledFrom(r.people).Draw(t, "as")
	r.wire(by, func(client *agentfirst.Client) {
		ctx, cancel := r.ctx()
		defer cancel()
		made, err := client.CreateCron(ctx, &agentwire.CreateCron{Schedule: "0 0 1 1 *", Skill: "none", Agent: "parley", Sender: as.sender})
		r.tally("making a schedule", err == nil)
		if err != nil {
			return
		}
		if !by.mayTalkAs(as) {
			t.Fatalf("%s made a schedule that speaks as %s\nit holds %v", by, as.name, by.scopes)
		}
		r.plans = append(r.plans, &plan{by: as, id: made.GetId()})
	})
}

// wire does something over the conversations' protocol, which pages do not speak.
func (r *run) wire(by *credential, do func(*agentfirst.Client)) {
	if by.kind == "page" {
		return
	}
	if client := r.talk(by); client != nil {
		do(client)
	}
}

// touchPlan tries to see or remove a schedule of somebody.
func touchPlan(r *run, c *credential) (out outcome) {
	if len(r.plans) == 0 {
		return outcome{}
	}
	p := rapid.SampledFrom(r.plans).Draw(r.t, "schedule")
	r.wire(c, func(client *agentfirst.Client) {
		ctx, cancel := r.ctx()
		defer cancel()
		out = outcome{may: c.mayTalkAs(p.by), there: true, detail: p.GoString()}
		if r.draw("way", "list", "remove") == "remove" && !out.may {
			out.got = client.DeleteCron(ctx, p.id) == nil
			return
		}
		list, err := client.ListCrons(ctx)
		out.got = err == nil && slices.ContainsFunc(list, func(i *agentwire.CronInfo) bool { return i.GetId() == p.id })
	})
	return out
}

// secretly is what stands in the owner's file.
const secretly = "pelican and nobody else"

// leaveArtifact has a task of the owner hand a file over.
func (w *world) leaveArtifact() {
	w.t.Helper()
	var made struct {
		ID string `json:"task_id"`
	}
	w.read(w.Do("POST", "/api/tasks", `{"goal":"/say done","messages":[]}`), &made)
	folder := filepath.Join(w.Path("workspace"), "artifacts", made.ID)
	if err := errors.Join(os.MkdirAll(folder, 0o700), os.WriteFile(filepath.Join(folder, "plan.txt"), []byte(secretly), 0o600)); err != nil {
		w.t.Fatal(err)
	}
	w.artifact, w.artifactPath = "/api/tasks/"+made.ID+"/artifacts/plan.txt", "artifacts/"+made.ID+"/plan.txt"
}

// readArtifact tries to read a file that a task of the owner handed over.
func readArtifact(r *run, c *credential) outcome {
	if r.artifact == "" {
		return outcome{}
	}
	return outcome{got: r.rest(c, "GET", r.artifact, nil).in(), may: c.mayUse(r.root.person, "task:read"), there: true}
}

// readFile has an agent of somebody read a file of the owner's folder, by the path it has
// in there. No grant leads to it by that name.
func readFile(r *run, c *credential) outcome {
	raw, _ := json.Marshal(map[string]string{"path": r.artifactPath}) // strings only
	id, _ := r.submit(c, "/tool file_read "+string(raw)+"\n/result", writer, "")
	if id == "" {
		return outcome{}
	}
	y := &try{task: id}
	r.eventually("a task that reads a file ends", func() bool { return r.over(y) })
	events := r.rest(r.root, "GET", "/api/tasks/"+id+"/events", nil)
	return outcome{got: strings.Contains(string(events.body), secretly), there: true, detail: "in the folder of the owner"}
}
