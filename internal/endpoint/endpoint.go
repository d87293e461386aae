package endpoint

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/client/kenny"
	"parley.internal/internal/endpoint/collect"
	"parley.internal/internal/endpoint/control"
	"parley.internal/internal/endpoint/guard"
	"parley.internal/internal/endpoint/logs"
	"parley.internal/internal/endpoint/notice"
	"parley.internal/internal/endpoint/tools"
	"parley.internal/internal/endpoint/truepath"
	"parley.internal/internal/endpoint/update"
	"parley.internal/internal/wake"
	wire "parley.internal/protocol/kenny"
)

// Options are what an endpoint is opened with.
type Options struct {
	// State is the folder for key, settings, switch and logs.
	State string
	// Config is what was given this time; it adds to what the folder knows.
	Config Config
	// Token enrols the machine; empty if it is enrolled.
	Token   string
	Version string
	// Console, where given, gets the log too.
	Console slog.Handler
	// Program is this program's path, for the processes it starts of itself;
	// empty is the running one.
	Program string
	// Protect names more folders that no call may touch, such as a hub's own.
	Protect []string
	// Dial replaces the transport; nil is the usual one.
	Dial kenny.Dialer

	sections []string // what is pushed; nil is everything
}

// Endpoint is the program on a machine. Make it with [Open]; Run it once, then
// Close it.
type Endpoint struct {
	opts   Options
	config Config
	os     wire.OS
	key    ed25519.PrivateKey
	file   *logs.File
	ring   *logs.Ring
	log    *slog.Logger
	sw     *control.Switch
	meter  *collect.Collector
	client *kenny.Client
	unlock func()
	// connected wakes the telemetry loop; it never blocks.
	connected wake.Bell
}

// Open reads the state folder, makes the key if there is none, and checks that
// everything needed is known. It does not connect.
func Open(opts Options) (*Endpoint, error) {
	system, ok := wire.OSFromGo(runtime.GOOS)
	if !ok {
		return nil, fmt.Errorf("there is no endpoint for %s", runtime.GOOS)
	}
	state, err := filepath.Abs(opts.State)
	if err != nil {
		return nil, err
	}
	opts.State = state
	saved, err := LoadConfig(opts.State)
	if err != nil {
		return nil, err
	}
	config := saved.Merge(opts.Config)
	if err := config.check(); err != nil {
		return nil, err
	}
	if err := prepareFolder(opts.State); err != nil {
		return nil, err
	}
	unlock, err := lockFolder(opts.State)
	if err != nil {
		return nil, err
	}
	e := &Endpoint{opts: opts, config: config, os: system, unlock: unlock, connected: wake.New()}
	if err := e.build(); err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

// build makes the parts and joins them.
func (e *Endpoint) build() (err error) {
	if e.key, err = LoadKey(e.opts.State); err != nil {
		return err
	}
	e.openLog()
	e.sw = control.NewSwitch(e.opts.State, e.log)
	e.sw.OnSet = e.switched
	e.meter = collect.New(e.os, e.log)
	watch := guard.New(e.os, e.log, e.protected()...)
	pins, err := e.config.pins()
	if err != nil {
		return err
	}
	program, err := e.program()
	if err != nil {
		return err
	}
	set := tools.New(tools.Deps{
		OS: e.os, Guard: watch, Helper: []string{program, "endpoint", "capture"},
		Collect: func(ctx context.Context, sections []string) (any, error) { return e.meter.Collect(ctx, sections), nil },
		Update:  e.updater(watch, program),
	})
	hubs := e.config.addresses()
	e.client, err = kenny.New(kenny.Config{
		URL: hubs[0], Others: hubs[1:], InsecurePlaintext: e.config.Insecure, AgentID: e.config.ID, Key: e.key, ServerKeys: pins,
		Meta: e.meta(), MetaNow: e.meta, Log: e.log, Dial: e.opts.Dial,
		Handler:   &dispatcher{sw: e.sw, guard: watch, tools: set, log: e.log},
		OnConnect: e.onConnect, OnDisconnect: e.onDisconnect,
	})
	return err
}

// protected lists the folders no call may touch, links to them undone.
func (e *Endpoint) protected() []string {
	var out []string
	for _, f := range append([]string{e.opts.State}, e.opts.Protect...) {
		out = append(out, f)
		if real := truepath.Resolve(f); real != f {
			out = append(out, real)
		}
	}
	return out
}

// openLog writes to a file per day, to the ring and to the console.
func (e *Endpoint) openLog() {
	e.file, e.ring = logs.OpenFile(filepath.Join(e.opts.State, "logs")), logs.NewRing()
	level, _ := logs.ParseLevel(e.config.LogForward) // checked before
	handlers := []slog.Handler{e.file.Handler(slog.LevelDebug), e.ring.Handler(level)}
	if e.opts.Console != nil {
		handlers = append(handlers, e.opts.Console)
	}
	e.log = slog.New(logs.Tee(handlers...))
}

func (e *Endpoint) program() (string, error) {
	if e.opts.Program != "" {
		return e.opts.Program, nil
	}
	return os.Executable()
}

// updater is nil unless this endpoint was installed as a service: nobody could
// start the new version otherwise.
func (e *Endpoint) updater(watch *guard.Guard, program string) func(context.Context, string, string, string) error {
	if !e.config.Service {
		return nil
	}
	keys, _ := e.config.releaseKeys() // checked before
	u := update.New(update.Options{
		Folder: e.opts.State, Program: program, Version: e.opts.Version, Keys: keys, Log: e.log,
		Check: func(address string) error { return watch.CheckUpdate(address, e.config.hosts()) },
		Swap:  update.Detach,
	})
	return u.Stage
}

// meta describes the machine to the hub.
func (e *Endpoint) meta() wire.Meta {
	name, err := os.Hostname()
	if err != nil || name == "" {
		name = e.config.ID
	}
	mode := `"` + string(e.sw.State().Mode) + `"` // one of four words
	return wire.Meta{
		Hostname: name, OS: e.os, Version: e.opts.Version, Arch: runtime.GOARCH,
		Extra: map[string]jsontext.Value{wire.ControlKey: jsontext.Value(mode), wire.ProgramKey: jsontext.Value(`"` + wire.Program + `"`)},
	}
}

// Run serves until ctx ends; that is no error. It returns early only when the
// machine cannot be enrolled.
func (e *Endpoint) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server, err := control.Listen(e.sw)
	if err != nil {
		return err
	}
	defer server.Close()
	program, err := e.program()
	if err != nil {
		return err
	}
	helper := notice.NewHelper([]string{program, "endpoint", "notice", "--state", e.opts.State}, e.log)
	defer helper.Close()
	e.sw.OnAsk = helper.Show
	if err := e.enrol(ctx); err != nil {
		if ctx.Err() != nil {
			return nil //nolint:nilerr // told to stop before it was enrolled
		}
		return err
	}
	e.log.Info("endpoint starts", "id", e.config.ID, "version", e.opts.Version, "mode", e.sw.State().Mode)
	update.Report(e.opts.State, e.log)
	var work sync.WaitGroup
	work.Go(func() { logs.Forward(ctx, e.ring, e.client) })
	work.Go(func() { e.telemetry(ctx) })
	work.Go(func() { e.meter.Watch(ctx) })
	err = e.client.Run(ctx)
	cancel()
	work.Wait()
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// Close lets go of the state folder.
func (e *Endpoint) Close() {
	if e.file != nil {
		_ = e.file.Close() // the log of closing the log has no reader
	}
	e.unlock()
}
