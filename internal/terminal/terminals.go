package terminal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"parley.internal/internal/audit"
	"parley.internal/internal/bus"
	"parley.internal/internal/identity"
	"parley.internal/internal/ids"
	"parley.internal/internal/lease"
	"parley.internal/internal/mask"
	"parley.internal/internal/owner"
	"parley.internal/internal/sandbox"
	"parley.internal/internal/terminal/pty"
	"parley.internal/internal/workspace"
	"parley.internal/protocol/viber"
)

// Deps is what terminals are made from.
type Deps struct {
	// Workspace gives the folder where a person's processes start.
	Workspace workspace.Finder
	// Sandbox runs the programs of agents; nil is one without boxes.
	Sandbox *sandbox.Sandbox
	// Mask is what nobody is shown.
	Mask *mask.Mask
	// MaxRunning is how many of one principal may run, in the whole cluster (16).
	MaxRunning int
	// Keep is how terminals outlive this hub; nil lets them end with it.
	Keep *Keep
	// Recordings is where what terminals print is kept; nil keeps nothing.
	Recordings *Recordings
	// Bus joins the hubs of a cluster, and Leases say which live; a hub that is alone
	// needs neither.
	Bus    bus.Bus
	Leases *lease.Leases
	// Audit may be nil.
	Audit audit.Recorder
	Log   *slog.Logger
}

// Terminals are the terminals of this hub, and the way to those of others.
type Terminals struct {
	d     Deps
	grace time.Duration
	// things is the way to terminals of other hubs, and theirs to ours; nil when alone.
	things *owner.Things[*terminal, question, answer]

	mu       sync.Mutex
	all      map[string]*terminal
	starting map[string]int // of each principal
	closed   bool
	stopping chan struct{}
	running  sync.WaitGroup
}

var _ API = (*Terminals)(nil)

// New makes an empty set. Close ends it.
func New(d Deps) (*Terminals, error) {
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	if d.Sandbox == nil {
		d.Sandbox = sandbox.New(sandbox.Options{Environ: os.Environ()})
	}
	if d.MaxRunning <= 0 {
		d.MaxRunning = viber.DefaultLimits().MaxTerminals
	}
	ts := &Terminals{d: d, grace: grace, all: map[string]*terminal{}, starting: map[string]int{}, stopping: make(chan struct{})}
	if d.Bus != nil {
		ts.things = ts.newThings()
		if err := ts.things.Listen(); err != nil {
			return nil, err
		}
	}
	pty.MindHangUps()
	ts.resume()
	return ts, nil
}

// Close hangs up on every process that has no keeper, and waits until all of them have ended.
func (ts *Terminals) Close() error {
	ts.mu.Lock()
	if !ts.closed {
		ts.closed = true
		close(ts.stopping)
	}
	ts.mu.Unlock()
	if ts.things != nil {
		ts.things.Close()
	}
	kept := len(ts.mine(func(t *terminal) bool { return t.kept != nil && !t.over.Load() }))
	ts.running.Wait()
	if kept > 0 {
		ts.d.Log.Info("terminals live on and wait for the next hub", "terminals", kept, "for", ts.d.Keep.Alone)
	}
	return nil
}

func (ts *Terminals) isStopping() bool {
	select {
	case <-ts.stopping:
		return true
	default:
		return false
	}
}

// Create starts a process on a new terminal.
func (ts *Terminals) Create(ctx context.Context, who identity.Actor, spec Spec) (viber.Terminal, error) {
	if spec.Size == (viber.Size{}) {
		spec.Size = viber.DefaultSize()
	}
	if !spec.Size.Valid() {
		return viber.Terminal{}, ErrBadSize
	}
	if err := ts.reserve(who.Person.ID); err != nil {
		return viber.Terminal{}, err
	}
	err := ts.roomElsewhere(ctx, who)
	var t *terminal
	if err == nil {
		t, err = ts.spawn(ctx, who, spec)
	}
	ts.mu.Lock()
	ts.starting[who.Person.ID]--
	if ts.starting[who.Person.ID] == 0 {
		delete(ts.starting, who.Person.ID)
	}
	if err == nil {
		ts.all[t.info.ID] = t
	}
	ts.mu.Unlock()
	if err != nil {
		ts.running.Done()
		outcome := "spawn_failed"
		if errors.Is(err, ErrLimit) {
			outcome = "limit"
		}
		ts.note(who, audit.TerminalCreated, &terminal{task: spec.Task}, outcome, 0, nil)
		return viber.Terminal{}, err
	}
	if ts.things != nil {
		ts.things.Put(t.info.ID, t)
	}
	ts.note(who, audit.TerminalCreated, t, "ok", 0, nil)
	info := t.describe()
	go ts.runs(t)
	return info, nil
}

// runs is a terminal's goroutine.
func (ts *Terminals) runs(t *terminal) {
	defer ts.running.Done()
	t.run()
}

// reserve counts a terminal that is about to be, before anything is started.
func (ts *Terminals) reserve(principal string) error {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.closed {
		return ErrStopping
	}
	if ts.countLocked(principal) >= ts.d.MaxRunning {
		return ts.tooMany()
	}
	ts.starting[principal]++
	ts.running.Add(1)
	return nil
}

// roomElsewhere holds the limit in the whole cluster. This hub's place is taken
// already: of two hubs that start the last one at once, each sees the other's.
func (ts *Terminals) roomElsewhere(ctx context.Context, who identity.Actor) error {
	n := ts.count(who.Person.ID)
	for _, a := range ts.everywhere(ctx, question{Op: opCount, Who: who}) {
		n += a.Answer.Count
	}
	if n <= ts.d.MaxRunning {
		return nil
	}
	return ts.tooMany()
}

func (ts *Terminals) tooMany() error {
	return fmt.Errorf("%w: at most %d run at a time", ErrLimit, ts.d.MaxRunning)
}

// count is how many terminals of a principal run here, or are about to.
func (ts *Terminals) count(principal string) int {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.countLocked(principal)
}

// countLocked is count for whoever holds the lock.
func (ts *Terminals) countLocked(principal string) int {
	n := ts.starting[principal]
	for _, t := range ts.all {
		if t.owner == principal && !t.over.Load() {
			n++
		}
	}
	return n
}

func (ts *Terminals) spawn(ctx context.Context, who identity.Actor, spec Spec) (*terminal, error) {
	dir := ts.folder(who, spec.Cwd)
	now := time.Now()
	command := spec.Command
	if command == "" {
		command, _ = pty.Shell("")
	}
	t := ts.newTerminal(who, viber.Terminal{
		ID: ids.New(), Name: nameOf(spec, command), CreatedAt: viber.At(now), TaskID: spec.Task, CWD: dir,
		Command: ts.d.Mask.Text(command),
	}, now)
	t.boxed, t.sizes.current = spec.Box != nil, spec.Size
	t.screen, t.mask = viber.NewScrollback(viber.MaxScrollback), ts.d.Mask.Stream()
	if err := ts.start(ctx, t, spec); err != nil {
		return nil, err
	}
	t.record = ts.d.Recordings.begin(t.info, who.Person.ID, spec.Size, now)
	t.acknowledge() // that it is recorded, or not
	return t, nil
}

// newTerminal is one without a process yet.
func (ts *Terminals) newTerminal(who identity.Actor, info viber.Terminal, began time.Time) *terminal {
	return &terminal{
		set: ts, owner: who.Person.ID, creator: who, task: info.TaskID, log: ts.d.Log, mail: make(chan func()), gone: make(chan struct{}),
		views: map[*view]struct{}{}, lent: map[string]*view{}, typed: map[string]bool{}, began: began, info: info,
	}
}

// start runs the process: with a keeper, where there are any.
func (ts *Terminals) start(ctx context.Context, t *terminal, spec Spec) error {
	if ts.d.Keep != nil {
		return ts.keep(ctx, t, spec)
	}
	p, err := pty.Start(ts.d.Sandbox, pty.Program{Command: spec.Command, Dir: t.info.CWD, Size: spec.Size, Box: spec.Box, Exit: spec.Exit})
	t.process = p
	return err
}

// folder is where a process starts.
func (ts *Terminals) folder(who identity.Actor, cwd string) string {
	if !filepath.IsAbs(cwd) {
		cwd = filepath.Join(ts.d.Workspace(workspace.Person(who.Person.ID), ""), cwd)
	}
	return filepath.Clean(cwd)
}

// maxName keeps listings readable.
const maxName = 100

func nameOf(spec Spec, command string) string {
	name := strings.Join(strings.Fields(strings.ToValidUTF8(spec.Name, "")), " ")
	if name == "" {
		name = filepath.Base(strings.Fields(command + " sh")[0])
	}
	for utf8.RuneCountInString(name) > maxName {
		_, size := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-size]
	}
	return name
}

// find is a terminal of this hub that the caller may know of; nil if there is none.
func (ts *Terminals) find(who identity.Actor, id string) *terminal {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if t := ts.all[id]; t != nil && reaches(who, t) {
		return t
	}
	return nil
}

func (ts *Terminals) remove(t *terminal) {
	ts.mu.Lock()
	delete(ts.all, t.info.ID)
	ts.mu.Unlock()
	if ts.things != nil {
		ts.things.Remove(t.info.ID, t)
	}
}

// List shows the caller's terminals on every hub, oldest first.
func (ts *Terminals) List(ctx context.Context, who identity.Actor) ([]viber.Terminal, error) {
	list := ts.local(ctx, who)
	for _, a := range ts.everywhere(ctx, question{Op: opList, Who: who}) {
		list = append(list, a.Answer.List...)
	}
	slices.SortFunc(list, func(a, b viber.Terminal) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt.Time), cmp.Compare(a.ID, b.ID))
	})
	return list, ctx.Err()
}

func (ts *Terminals) local(ctx context.Context, who identity.Actor) []viber.Terminal {
	list := []viber.Terminal{}
	for _, t := range ts.mine(func(t *terminal) bool { return reaches(who, t) }) {
		// One that leaves meanwhile is not there any more.
		_ = t.do(ctx, func() { list = append(list, t.describe()) })
	}
	return list
}

func (ts *Terminals) mine(wanted func(*terminal) bool) []*terminal {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	var found []*terminal
	for _, t := range ts.all {
		if wanted(t) {
			found = append(found, t)
		}
	}
	return found
}

// Tasks are those whose agents have terminals here.
func (ts *Terminals) Tasks() []string {
	var tasks []string
	for _, t := range ts.mine(func(t *terminal) bool { return t.task != "" && !t.over.Load() }) {
		tasks = append(tasks, t.task)
	}
	return tasks
}

// Running counts the terminals whose process runs on this hub.
func (ts *Terminals) Running() int {
	return len(ts.mine(func(t *terminal) bool { return !t.over.Load() }))
}
