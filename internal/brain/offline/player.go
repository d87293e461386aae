package offline

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"parley.internal/internal/brain/model"
)

// Name is the provider's and the model's name.
const Name = "offline"

// fragmentSize is how much of a call's arguments goes out at once: small, so that
// whoever joins fragments is exercised by every script.
const fragmentSize = 16

// Provider is the offline model. The zero value is ready.
type Provider struct{}

// New returns the offline model.
func New() Provider { return Provider{} }

// Name is "offline".
func (Provider) Name() string { return Name }

// InProcess marks it as a [model.InProcess].
func (Provider) InProcess() {}

// Stream plays what the request asks for.
func (Provider) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		p := player{ctx: ctx, req: &req, yield: yield}
		err := p.play()
		switch {
		case errors.Is(err, errStopped):
		case err != nil && !errors.Is(err, errLength):
			yield(model.Event{}, err)
		default:
			p.finish(err)
		}
	}
}

var (
	// errStopped says that nobody wants more events.
	errStopped = errors.New("stopped")
	// errLength says that the limit of output words is reached.
	errLength = errors.New("length")
)

// player is one model call in progress.
type player struct {
	ctx   context.Context
	req   *model.Request
	yield func(model.Event, error) bool

	chunks int64
	pace   time.Duration
	timer  *time.Timer
	begun  bool // a chunk went out, so the next one waits its pace
	said   bool // a line was said, so the next one starts a new line
	out    counter
	called bool

	usage *step
	cost  int64
}

func (p *player) play() error {
	switch p.req.Purpose {
	case model.ForCompact:
		return p.say(compactAnswer(p.req))
	case model.ForTitle:
		return p.say(titleAnswer(p.req))
	}
	s := choose(*p.req)
	steps := parse(s.text, p.req.Purpose == model.ForTask)
	if len(steps) == 0 {
		return p.say(noScriptAnswer(s.text, s.files))
	}
	return p.run(p.resume(steps, s.skip), s.round)
}

// resume skips the batches that were played in earlier calls. What holds "from
// here on" in the script still holds.
func (p *player) resume(steps []step, skip int) []step {
	for i := range steps {
		if skip == 0 {
			return steps[i:]
		}
		switch steps[i].op {
		case opBatch:
			skip--
		case opChunks, opPace:
			p.set(&steps[i])
		}
	}
	return nil
}

func (p *player) set(s *step) {
	if s.op == opChunks {
		p.chunks = s.n
		return
	}
	p.pace = time.Duration(s.n) * time.Millisecond
}

func (p *player) run(steps []step, round int) error {
	for i := range steps {
		if err := context.Cause(p.ctx); err != nil {
			return err
		}
		s := &steps[i]
		if s.op == opBatch {
			return p.calls(s.calls, round)
		}
		if err := p.step(s); err != nil {
			return err
		}
	}
	return nil
}

func (p *player) step(s *step) error {
	switch s.op {
	case opSay:
		return p.say(s.text)
	case opResult:
		return p.say(lastResults(p.req))
	case opContext:
		return p.say(contextJSON(p.req))
	case opSleep:
		return p.wait(time.Duration(s.n) * time.Millisecond)
	case opFail:
		if s.once && p.req.Attempt > 1 {
			return nil
		}
		return s.failure()
	case opChunks, opPace:
		p.set(s)
	case opUsage:
		p.usage = s
	case opCost:
		p.cost = s.n
	}
	return nil
}

// say streams one line. A line after another begins with the newline between
// them, so that the number of chunks of a line is what the script asked for.
func (p *player) say(text string) error {
	first := ""
	if p.said {
		first = "\n"
	}
	p.said = true
	for piece := range cuts(text, p.chunks) {
		if err := p.chunk(first + piece); err != nil {
			return err
		}
		first = ""
	}
	return p.chunk(first)
}

func (p *player) chunk(text string) error {
	if text == "" {
		return nil
	}
	if p.begun && p.pace > 0 {
		if err := p.wait(onTheBeat(p.pace, time.Now())); err != nil {
			return err
		}
	}
	if err := context.Cause(p.ctx); err != nil {
		return err
	}
	p.begun = true
	text, cut := p.out.keepWithin(text, int64(p.req.MaxOutput))
	if text != "" && !p.yield(model.Event{Kind: model.Text, Text: text}, nil) {
		return errStopped
	}
	if cut {
		return errLength
	}
	return nil
}

func (p *player) wait(d time.Duration) error {
	if d <= 0 {
		return context.Cause(p.ctx)
	}
	if p.timer == nil {
		p.timer = time.NewTimer(d)
	} else {
		p.timer.Reset(d)
	}
	select {
	case <-p.timer.C:
		return nil
	case <-p.ctx.Done():
		p.timer.Stop()
		return context.Cause(p.ctx)
	}
}

// beat is what pauses between chunks end on. A thousand players that each wake the
// machine at a moment of their own keep it busy with waking up; those who wait for
// the same beat wake together.
const beat = time.Millisecond

// onTheBeat shortens a pause by less than a beat, so that it ends on one.
func onTheBeat(d time.Duration, now time.Time) time.Duration {
	return max(d-time.Duration(now.UnixNano())%beat, 0)
}

// calls streams a batch: the name first, then the arguments in fragments.
func (p *player) calls(batch []call, round int) error {
	p.called = true
	for i, c := range batch {
		ev := model.Event{Kind: model.CallDelta, Index: i, ID: fmt.Sprintf("call_%d_%d", round, i+1), Name: c.name}
		if !p.yield(ev, nil) {
			return errStopped
		}
		for rest := c.args; rest != ""; {
			var head string
			head, rest = fragment(rest, fragmentSize)
			if !p.yield(model.Event{Kind: model.CallDelta, Index: i, Arguments: head}, nil) {
				return errStopped
			}
		}
	}
	return nil
}

func (p *player) finish(err error) {
	u := model.Usage{Prompt: promptTokens(p.req), Completion: p.out.n, CostMicros: p.cost, CostKnown: true, Rounds: 1}
	if p.usage != nil {
		u.Prompt, u.Completion = p.usage.n, p.usage.m
	}
	ev := model.Event{Kind: model.Done, Usage: u, Finish: model.FinishStop}
	switch {
	case errors.Is(err, errLength):
		ev.Finish = model.FinishLength
	case p.called:
		ev.Finish = model.FinishCalls
	}
	p.yield(ev, nil)
}

func (s *step) failure() error {
	e := &model.Error{Provider: Name, Text: s.text}
	switch {
	case s.context:
		e.Cause = model.CauseContext
	case s.status != 0:
		e.Cause, e.Status = model.CauseStatus, s.status
	default:
		e.Cause, e.Final = model.CauseBadData, true
	}
	return e
}

// noScriptAnswer is for people who just talk to it.
func noScriptAnswer(text string, files []model.File) string {
	return strings.Join([]string{
		`Offline model: I read "`, firstLine(text, 120), `"`, received(files), `. No model is configured: set PARLEY_MODEL, `,
		`or script me with /say TEXT, /tool NAME {json}, /sleep MS, /fail TEXT.`,
	}, "")
}

// received says what files came, by the bytes that are really there.
func received(files []model.File) string {
	var b strings.Builder
	for _, f := range files {
		if f.Data == nil {
			fmt.Fprintf(&b, " and was told of %q", f.Name)
			continue
		}
		fmt.Fprintf(&b, " and got %q (%s, %d bytes)", f.Name, f.Type, len(f.Data))
	}
	return b.String()
}
