//go:build linux

package growth_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"parley.internal/test/hubtest"
)

var longer = flag.Duration("growth.for", 0, "go on with other sequences for this long")

func TestMain(m *testing.M) {
	// Fewer than usual: each step is a handful of requests to a real hub. The command
	// line has the last word.
	for name, value := range map[string]string{"rapid.checks": "100", "rapid.shrinktime": "10s", "rapid.nofailfile": "true"} {
		if err := flag.Set(name, value); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	hubtest.Main(m)
}

// Nobody, and nothing they made, can do or read what they could not before, unless
// somebody who could said yes to exactly that; and what has ended takes with it all
// that it made.
func TestNoSequenceOfRequestsGrows(t *testing.T) {
	w := newWorld(t)
	rapid.Check(t, w.sequence)
	for end := time.Now().Add(*longer); *longer > 0 && time.Now().Before(end) && !t.Failed(); {
		t.Run("more", func(t *testing.T) { rapid.Check(t, w.sequence) })
	}
	w.sawBoth()
}

// enough requests were made that every probe must have been tried by many.
const enough = 10_000

// steps are what people do.
var steps = map[string]func(*run, *rapid.T){
	"mint": (*run).Mint, "open a page": (*run).OpenPage, "log in": (*run).LogIn, "pair": (*run).Pair, "add a passkey": (*run).AddPasskey,
	"rotate": (*run).Rotate, "end": (*run).End, "say": (*run).Say, "hand over": (*run).HandOver, "open a room": (*run).OpenRoom,
	"name somebody": (*run).Name, "call a machine": (*run).CallMachine, "hand over work": (*run).HandOverWork, "answer": (*run).Answer,
	"watch": (*run).Watch, "share a room": (*run).ShareRoom, "share it again": (*run).ShareRoom, "plan": (*run).Plan,
	"lose a room": (*run).LoseRoom,
}

// sequence is one random history of a few people.
func (w *world) sequence(t *rapid.T) {
	r := &run{world: w, t: t}
	defer r.close()
	for _, name := range []string{"ann", "ben"} {
		name = fmt.Sprint(name, r.next())
		if r.born(name, drawScopes(t), lives.Draw(t, "life")) == nil {
			t.Fatalf("%s could not be given a token", name)
		}
	}
	for _, name := range rapid.SliceOfN(rapid.SampledFrom(slices.Sorted(maps.Keys(steps))), 20, 40).Draw(t, "steps") {
		steps[name](r, t)
		for _, y := range r.tries {
			r.onlyWhatIsPermitted(y)
		}
		r.Probe(t)
		r.Probe(t)
	}
	r.endAll()
}

// Probe has somebody try what they should not be able to.
func (r *run) Probe(t *rapid.T) {
	c, name := r.usable("who"), rapid.SampledFrom(slices.Sorted(maps.Keys(probes))).Draw(t, "what")
	r.hold(c, name, probes[name](r, c))
}

// hold compares what somebody got with what they may have.
func (r *run) hold(c *credential, name string, out outcome) {
	r.t.Helper()
	switch {
	case !out.there:
	case out.got && !out.may:
		r.t.Fatalf("%s got %s: %s\nit holds %v", c, name, out.detail, c.scopes)
	default:
		r.tally(name, out.got)
	}
}

// tally counts what was let through and what was not.
func (w *world) tally(name string, let bool) {
	if let {
		w.let[name]++
	} else {
		w.kept[name]++
	}
}

// endAll revokes the tokens that the owner made: nothing is left of anybody.
func (r *run) endAll() {
	for _, c := range r.there {
		if c.maker != r.root || c.dead || c.id == "" {
			continue
		}
		if a := r.end(r.root, c); a.status/100 != 2 {
			r.t.Fatalf("the owner could not end %s: %d %s", c, a.status, a.body)
		}
		r.hasEnded(c)
	}
}

// close leaves the hub as it was found.
func (r *run) close() {
	for _, y := range r.tries {
		if y.question != "" {
			r.As(r.Owner, "POST", "/api/approvals/"+y.question, `{"approved":false}`)
		}
	}
	if r.unasking {
		r.must(r.Do("PUT", "/api/agents/"+shared, `{"mode":null}`))
	}
	for _, f := range slices.Backward(r.cleanup) {
		f()
	}
}

// sawBoth tells what the probes came to. One of many thousands that was never let
// through, or never refused, shows nothing.
func (w *world) sawBoth() {
	all := maps.Clone(w.kept)
	maps.Copy(all, w.let)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		w.t.Logf("%s: let through %d times, refused %d times", name, w.let[name], w.kept[name])
	}
	for name := range probes {
		if n := w.n; n > enough && (w.kept[name] == 0 || w.let[name] == 0 && !slices.Contains(nobodys, name)) {
			w.t.Errorf("%s: let through %d times, refused %d times, so it shows nothing", name, w.let[name], w.kept[name])
		}
	}
}
