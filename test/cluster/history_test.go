//go:build unix

package cluster_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"parley.internal/client/agentfirst"
	"parley.internal/client/hubapi"
	talkwire "parley.internal/protocol/agentfirst"
	"parley.internal/protocol/rest"
	"parley.internal/test/hubtest"
	"parley.internal/test/natstest"
	"parley.internal/test/pgtest"
)

// everyFault has all faults happen, several times: `make test-cluster`. Otherwise two do.
const everyFault = "PARLEY_TEST_CLUSTER"

// threads is how many conversations are held at a time, by two people and a reader each.
const threads = 3

// rig is three hubs under load, and the history of what was said and read.
type rig struct {
	t     *testing.T
	hubs  []*hubtest.Hub
	nodes []*natstest.Node
	pg    *pgtest.TestServer
	began time.Time
	words atomic.Int64

	mu      sync.Mutex
	at      []address // where each hub is now
	history []porcupine.Operation
	// acked is when each conversation last had something acknowledged that began after
	// the last fault.
	fault time.Time
	acked [threads]time.Duration
}

type address struct{ url, owner string }

// utterance and reading are what people do. An answer that did not come is no answer: what was
// said may count at any time later, or never.
type (
	utterance struct {
		thread int
		word   string
	}
	reading struct{ thread int }
)

// conversation is what one is, as far as its readers know: words, each once, in an order
// that all agree about, and whatever was acknowledged is in it from then on.
var conversation = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		parts := make([][]porcupine.Operation, threads)
		for _, op := range history {
			switch in := op.Input.(type) {
			case utterance:
				parts[in.thread] = append(parts[in.thread], op)
			case reading:
				parts[in.thread] = append(parts[in.thread], op)
			}
		}
		return parts
	},
	Init: func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		if in, ok := input.(utterance); ok {
			return true, state.(string) + in.word + " "
		}
		return output.(string) == state.(string), state
	},
}

func (r *rig) where(hub int) address {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.at[hub]
}

// note adds to the history; over is when it was answered, or never.
func (r *rig) note(client int, input, output any, call time.Time, answered bool) {
	over := int64(math.MaxInt64)
	now := time.Now()
	if answered {
		over = int64(now.Sub(r.began))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history = append(r.history, porcupine.Operation{ClientId: client, Input: input, Output: output, Call: int64(call.Sub(r.began)), Return: over})
	if in, ok := input.(utterance); ok && answered && call.After(r.fault) && r.acked[in.thread] == 0 {
		r.acked[in.thread] = now.Sub(r.fault)
	}
}

// talk says words until it is told to stop, at any hub.
func (r *rig) talk(client, thread int, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		r.say(client, utterance{thread, fmt.Sprintf("w%d", r.words.Add(1))})
	}
}

func (r *rig) say(client int, in utterance) {
	where := r.where(rand.IntN(len(r.hubs)))
	ctx, cancel := context.WithTimeout(r.t.Context(), 15*time.Second)
	defer cancel()
	near, enough := context.WithTimeout(ctx, 2*time.Second) // a hub that hangs is left alone
	defer enough()
	c, err := agentfirst.Dial(near, strings.Replace(where.url, "http", "ws", 1)+"/talk/ws", agentfirst.Options{Token: where.owner})
	if err != nil {
		<-time.After(50 * time.Millisecond) // nothing was said
		return
	}
	defer c.Close()
	call := time.Now()
	_, err = c.Send(ctx, &talkwire.Turn{Agent: "parley", Thread: fmt.Sprint("t", in.thread), Content: "/say " + in.word})
	r.note(client, in, nil, call, err == nil)
}

// look reads until it is told to stop, at any hub. A reading that fails shows nothing.
func (r *rig) look(client, thread int, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-time.After(50 * time.Millisecond):
		}
		r.readOnce(client, thread)
	}
}

func (r *rig) readOnce(client, thread int) bool {
	where := r.where(rand.IntN(len(r.hubs)))
	ctx, cancel := context.WithTimeout(r.t.Context(), 20*time.Second)
	defer cancel()
	call := time.Now()
	words, err := wordsOf(ctx, hubapi.New(where.url, where.owner), thread)
	if err != nil {
		return false
	}
	r.note(client, reading{thread}, words, call, true)
	return true
}

// wordsOf is what was said in a conversation, as its people see it.
func wordsOf(ctx context.Context, c *hubapi.Client, thread int) (string, error) {
	list, err := hubapi.Call(ctx, c, rest.ListConversations, rest.ConversationQuery{Agent: "parley"})
	if err != nil {
		return "", err
	}
	var words strings.Builder
	for _, conv := range list.Conversations {
		if conv.Thread != fmt.Sprint("t", thread) {
			continue
		}
		messages, err := hubapi.Call(ctx, c, rest.ListMessages, rest.MessageQuery{ID: conv.ID, Archived: true})
		if err != nil {
			return "", err
		}
		for _, m := range messages.Messages {
			if word, ok := strings.CutPrefix(m.Content, "/say "); ok && m.Role == "user" {
				words.WriteString(word + " ")
			}
		}
	}
	return words.String(), nil
}

// strike does one fault, and waits until every conversation goes on.
func (r *rig) strike(name string, fault func(), mend func()) {
	r.t.Helper()
	r.mu.Lock()
	r.fault, r.acked = time.Now(), [threads]time.Duration{}
	r.mu.Unlock()
	fault()
	var slowest time.Duration
	all := func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		slowest = 0
		for _, took := range r.acked {
			if took == 0 {
				return false
			}
			slowest = max(slowest, took)
		}
		return true
	}
	if mend != nil {
		mend()
	}
	// People who are waiting for an answer may wait for long: others come along.
	over := make(chan struct{})
	var others sync.WaitGroup
	for thread := range threads {
		others.Go(func() { r.talk(300+thread, thread, over) })
	}
	defer others.Wait()
	defer close(over)
	hubtest.Eventually(r.t, "every conversation goes on after "+name, all)
	r.t.Logf("%-40s every conversation goes on after %5.1f s", name, slowest.Seconds())
}

// back starts a hub again, and lets people find it.
func (r *rig) back(i int) {
	r.hubs[i].Restart()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at[i] = address{r.hubs[i].URL, r.hubs[i].Owner}
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, nodes: natstest.Cluster(t, 3), pg: pgtest.NewServer(t), began: time.Now()}
	target := r.pg.URL(t)
	urls := make([]string, len(r.nodes))
	for i, n := range r.nodes {
		urls[i] = n.URL()
	}
	for i := range 3 {
		h := hubtest.Start(t, hubtest.Config{
			Data: filepath.Join(pgtest.Folder(t), "data"), Env: []string{hubtest.Visits, "PARLEY_MODEL=offline"},
			Args: []string{"--db", target, "--nats", strings.Join(urls, ","), "--name", fmt.Sprintf("hub-%d", i), "--shutdown-grace", "5s"},
		})
		r.hubs = append(r.hubs, h)
		r.at = append(r.at, address{h.URL, h.Owner})
	}
	return r
}

// Three hubs hold conversations while hubs, PostgreSQL and NATS die, hang and come back. The
// history must be one that a single, careful hub could have made: nothing that was
// acknowledged is lost, nothing is there twice, and everybody sees the same order.
func TestNothingIsLostDoubledOrReorderedWhateverDies(t *testing.T) {
	r := newRig(t)
	stop := make(chan struct{})
	var people sync.WaitGroup
	for thread := range threads {
		people.Go(func() { r.talk(2*thread, thread, stop) })
		people.Go(func() { r.talk(2*thread+1, thread, stop) })
		people.Go(func() { r.look(100+thread, thread, stop) })
	}
	r.strike("nothing at all", func() {}, nil)
	kill := func(i int) {
		r.strike(fmt.Sprintf("kill -9 of hub %d", i), r.hubs[i].Kill9, nil)
		r.back(i)
	}
	pause := func(i int) {
		r.strike(fmt.Sprintf("hub %d hangs past its lease", i), func() { r.hubs[i].Signal(syscall.SIGSTOP) }, nil)
		r.hubs[i].Signal(syscall.SIGCONT)
	}
	kill(0)
	pause(1)
	if os.Getenv(everyFault) != "" {
		r.everything(kill, pause)
	}
	close(stop)
	people.Wait()
	for thread := range threads { // what is there in the end, by every hub
		for range 2 * len(r.hubs) {
			hubtest.Eventually(t, "the conversation is read", func() bool { return r.readOnce(200, thread) })
		}
	}
	r.judge()
}

func (r *rig) everything(kill, pause func(int)) {
	for i := range r.hubs {
		kill(i)
		pause(i)
		r.strike(fmt.Sprintf("hub %d is stopped and started", i), func() {
			r.hubs[i].Terminate()
			r.hubs[i].Wait()
		}, nil)
		r.back(i)
	}
	for i, n := range r.nodes {
		r.strike(fmt.Sprintf("NATS node %d dies", i), n.Kill, nil)
		n.Restart()
	}
	r.strike("NATS is away altogether", func() {
		for _, n := range r.nodes {
			n.Kill()
		}
	}, func() {
		for _, n := range r.nodes {
			n.Restart()
		}
	})
	r.strike("PostgreSQL dies and comes back", r.pg.Kill9, r.pg.Restart)
	r.strike("a hub and PostgreSQL die", func() { r.hubs[0].Kill9(); r.pg.Kill9() }, r.pg.Restart)
	r.back(0)
}

// judge looks whether the history can be explained.
func (r *rig) judge() {
	answered := 0
	for _, op := range r.history {
		if op.Return != math.MaxInt64 {
			answered++
		}
	}
	if answered < 20 {
		r.t.Errorf("%d things were answered, too few to tell anything", answered)
	}
	result, info := porcupine.CheckOperationsVerbose(conversation, r.history, 5*time.Minute)
	r.t.Logf("%d operations, %d answered: %s", len(r.history), answered, result)
	if result == porcupine.Ok {
		return
	}
	file := filepath.Join(os.TempDir(), "parley-history.html")
	r.t.Errorf("the history of what was said and read cannot be explained (%s); it is in %s: %v", result, file, porcupine.VisualizePath(conversation, info, file))
}
