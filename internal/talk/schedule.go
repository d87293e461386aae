package talk

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/brain/cron"
	"parley.internal/internal/identity"
	"parley.internal/internal/lease"
	"parley.internal/internal/wake"
)

const (
	// scheduleLease makes one hub of a cluster fire.
	scheduleLease = "talk-schedules"
	// longestNap bounds how long the scheduler trusts what it read.
	longestNap = 30 * time.Second
	// emptyNap is for hubs without schedules: whoever makes one wakes the hub.
	emptyNap = 5 * time.Minute
	// followNap is how often a hub that does not fire looks whether it should.
	followNap = 5 * time.Second
)

// CreateSchedule stores a turn that comes by itself.
func (t *Talk) CreateSchedule(ctx context.Context, who identity.Actor, s Schedule) (Schedule, error) {
	key, err := keyOf(who, s.Key)
	if err != nil {
		return s, err
	}
	s.Key = key
	plan, err := cron.Parse(s.Schedule)
	if err == nil {
		_, err = cron.ParseQuiet(s.QuietStart, s.QuietEnd)
	}
	if err != nil {
		return s, fmt.Errorf("%w: %w", ErrBadRequest, err)
	}
	s.Skill = strings.TrimPrefix(s.Skill, "/")
	if s.Skill == "" || len(s.Skill) > 128 || strings.ContainsAny(s.Skill, " \t\r\n\x00") {
		return s, fmt.Errorf("%w: a schedule names one skill", ErrBadRequest)
	}
	if _, err := t.agent(key.Agent); err != nil {
		return s, err
	}
	next, ok := plan.Next(time.Now())
	if !ok {
		return s, fmt.Errorf("%w: %q never fires", ErrBadRequest, s.Schedule)
	}
	s.Next, s.LastError, s.Maker = next, "", who
	if t.d.People != nil {
		if s.Maker, err = t.d.People.Lasting(ctx, who); err != nil {
			return s, err
		}
	}
	if s, err = t.d.Memory.AddSchedule(ctx, s); err != nil {
		return s, err
	}
	t.note(who.String(), audit.TalkScheduled, fmt.Sprint(s.ID), map[string]any{"agent": key.Agent, "sender": key.Sender, "skill": s.Skill})
	t.schedules.wake.Ring()
	return s, nil
}

// Schedules lists those of senders the caller may be.
func (t *Talk) Schedules(ctx context.Context, who identity.Actor) ([]Schedule, error) {
	all, err := t.d.Memory.Schedules(ctx)
	var list []Schedule
	for _, s := range all {
		if may(who, s.Sender) {
			list = append(list, s)
		}
	}
	return list, err
}

// DeleteSchedule removes one. Somebody else's looks like none.
func (t *Talk) DeleteSchedule(ctx context.Context, who identity.Actor, id int64) error {
	s, err := t.d.Memory.GetSchedule(ctx, id)
	if err != nil {
		return err
	}
	if !may(who, s.Sender) {
		return ErrNoSchedule
	}
	t.note(who.String(), audit.TalkUnscheduled, fmt.Sprint(id), nil)
	return t.d.Memory.DeleteSchedule(ctx, id)
}

// scheduler fires what is due.
type scheduler struct {
	t    *Talk
	wake wake.Bell
}

func (s *scheduler) loop() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-s.t.ctx.Done():
			return
		case <-s.wake:
		case <-timer.C:
		}
		if s.t.isClosing() {
			continue
		}
		nap, err := s.look(s.t.ctx)
		if err != nil && s.t.ctx.Err() == nil {
			s.t.d.Log.Warn("schedules stand still", "error", err)
		}
		timer.Reset(nap)
	}
}

// look fires what is due and tells when to look again.
func (s *scheduler) look(ctx context.Context) (time.Duration, error) {
	list, err := s.t.d.Memory.Schedules(ctx)
	if err != nil || len(list) == 0 {
		return emptyNap, err
	}
	mine, err := s.t.d.Leases.Acquire(ctx, scheduleLease)
	if _, held := errors.AsType[*lease.HeldError](err); held {
		return followNap, nil
	}
	if err != nil {
		return followNap, err
	}
	nap := longestNap
	for _, sched := range list {
		if sched.Next.IsZero() {
			continue
		}
		now := time.Now()
		if sched.Next.After(now) {
			nap = min(nap, sched.Next.Sub(now))
			continue
		}
		next, err := s.fire(ctx, mine, sched, now)
		if err != nil {
			return followNap, err
		}
		if !next.IsZero() {
			nap = min(nap, max(time.Until(next), time.Millisecond))
		}
	}
	return nap, nil
}

// fire handles one schedule that is due and returns when it is next. Quiet hours
// and a hub that was away drop a firing; one that comes only once waits instead.
func (s *scheduler) fire(ctx context.Context, mine *lease.Lease, sched Schedule, now time.Time) (time.Time, error) {
	m := s.t.d.Memory
	plan, err := cron.Parse(sched.Schedule)
	if err != nil {
		return time.Time{}, m.Fired(ctx, mine, sched.ID, time.Time{}, err.Error())
	}
	quiet, err := cron.ParseQuiet(sched.QuietStart, sched.QuietEnd)
	if err != nil {
		return time.Time{}, m.Fired(ctx, mine, sched.ID, time.Time{}, err.Error())
	}
	next, _ := plan.Next(now)
	hushed := quiet.Contains(now.In(s.t.d.Local))
	switch {
	case sched.Once && hushed:
		return now.Add(longestNap), nil
	case hushed, !sched.Once && now.Sub(sched.Next) > s.t.d.Limits.ScheduleLag:
		return next, m.Fired(ctx, mine, sched.ID, next, sched.LastError)
	}
	failure := s.t.fire(ctx, sched)
	switch {
	case failure != nil:
		s.t.d.Log.Warn("a schedule failed", "schedule", sched.ID, "error", failure)
		s.t.leaveNote(fmt.Sprintf("schedule:%d:%d", sched.ID, sched.Next.Unix()), sched.Sender, sched.Agent,
			fmt.Sprintf("the schedule %q of %s failed: %v", sched.Skill, sched.Agent, failure))
	case sched.Once:
		err := m.DeleteSchedule(ctx, sched.ID)
		if errors.Is(err, ErrNoSchedule) {
			err = nil
		}
		return time.Time{}, err
	}
	if sched.Once || errors.Is(failure, errMakerGone) {
		next = time.Time{}
	}
	return next, m.Fired(ctx, mine, sched.ID, next, errorText(failure))
}

// fire says "/SKILL" for a schedule. The key makes a firing that is tried twice,
// after a crash, run once.
func (t *Talk) fire(ctx context.Context, s Schedule) error {
	agent, err := t.agent(s.Agent)
	if err != nil {
		return err
	}
	if has, ok := t.d.Skills.Get(s.Skill); !ok || !has.For(agent) {
		return fmt.Errorf("%s has no skill %q", s.Agent, s.Skill)
	}
	who, err := t.makerOf(ctx, s)
	if err != nil {
		return err
	}
	run, err := t.Turn(ctx, who, TurnRequest{
		Key: s.Key, Content: "/" + s.Skill, Detached: true, IdempotencyKey: fmt.Sprintf("schedule:%d:%d", s.ID, s.Next.Unix()),
	})
	if err != nil {
		return err
	}
	run.Leave()
	return nil
}

// errMakerGone ends a schedule whose maker has lost the right to it.
var errMakerGone = errors.New("whoever made this schedule may not any more")

// makerOf is whom a schedule acts as: its maker, with at most what they had when they
// made it and have now. An older one has no known maker: it speaks in its conversation
// and can do nothing besides.
func (t *Talk) makerOf(ctx context.Context, s Schedule) (identity.Actor, error) {
	if s.Maker.Person == (identity.Principal{}) {
		return identity.Hub().Narrow(identity.Expand(identity.TalkAdmin)), nil
	}
	who := s.Maker.Scheduled(fmt.Sprint(s.ID))
	if t.d.People == nil {
		return who, nil
	}
	now, err := t.d.People.Standing(ctx, who)
	switch {
	case errors.Is(err, identity.ErrRefused):
		return now, fmt.Errorf("%w: %w", errMakerGone, err)
	case err != nil:
		return now, err
	case !may(now, s.Sender):
		return now, fmt.Errorf("%w: not as %q", errMakerGone, s.Sender)
	}
	return now, nil
}
