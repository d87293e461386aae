package bus

import (
	"errors"
	"testing"
	"time"
)

// arrival is one message as a hub's memory sees it.
type arrival struct {
	m   memory
	to  *natsSub
	now time.Time
}

func newArrival() *arrival {
	return &arrival{m: memory{}, to: &natsSub{since: testStart.Add(-time.Hour)}, now: testStart}
}

// of has a message arrive that was sent some time before now.
func (a *arrival) of(s session, count uint64, before time.Duration) error {
	e := envelope{nonce: newNonce(s, count), sent: a.now.Add(-before)}
	if a.m.known(e.nonce, a.to) {
		return errReplayed
	}
	_, err := a.m.admit(&e, a.to, a.now)
	return err
}

func (a *arrival) want(t *testing.T, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) || want == nil && got != nil {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestAMessageCountsOnce(t *testing.T) {
	a := newArrival()
	for _, count := range []uint64{1, 2, 5, 3, 9, 4} { // goroutines of a sender overtake each other
		a.want(t, "a new message", a.of(testSession, count, 0), nil)
	}
	for count := uint64(1); count <= 9; count++ {
		want := errReplayed
		if count == 6 || count == 7 || count == 8 {
			want = nil
		}
		a.want(t, "again", a.of(testSession, count, 0), want)
	}
	a.want(t, "the same count of another session", a.of(session{4}, 5, 0), nil)
}

func TestCountsThatAreFarBehindAreNotTaken(t *testing.T) {
	a := newArrival()
	a.want(t, "the newest", a.of(testSession, 10*remembered, 0), nil)
	a.want(t, "just remembered", a.of(testSession, 9*remembered+1, 0), nil)
	a.want(t, "too far behind", a.of(testSession, 9*remembered, 0), errReplayed)
	a.want(t, "one round further, in the place of an old one", a.of(testSession, 10*remembered+1, 0), nil)
	a.want(t, "that old one", a.of(testSession, 9*remembered+1, 0), errReplayed)
}

func TestLateAndFutureMessagesAreNotTaken(t *testing.T) {
	a := newArrival()
	a.want(t, "just in time", a.of(testSession, 1, window), nil)
	a.want(t, "late", a.of(testSession, 2, window+1), errClock)
	a.want(t, "a little ahead", a.of(testSession, 3, -window), nil)
	a.want(t, "of the future", a.of(testSession, 4, -window-1), errClock)
}

// A machine moves from one hub to another: what was recorded for the first was
// never seen by the second.
func TestAMessageFromBeforeTheSubscriptionIsARecording(t *testing.T) {
	a := newArrival()
	a.want(t, "something else of that hub", a.of(testSession, 100, 0), nil)
	a.now = a.now.Add(30 * time.Second)
	a.to = &natsSub{since: a.now}
	a.want(t, "recorded for another hub before", a.of(testSession, 50, 20*time.Second), errReplayed)
	a.want(t, "sent now", a.of(testSession, 101, 0), nil)
}

// A hub that has just started has seen nothing at all.
func TestARecordingOfAnUnknownSessionIsNotTakenByAHubThatHasJustStarted(t *testing.T) {
	a := newArrival()
	a.to = &natsSub{since: a.now}
	a.want(t, "recorded", a.of(testSession, 50, 20*time.Second), errReplayed)
	a.want(t, "sent now", a.of(testSession, 51, 0), nil)
}

// A clock that is behind must not make a hub deaf whenever it subscribes to
// something new.
func TestAHubWhoseClockIsBehindIsHeardByNewSubscriptions(t *testing.T) {
	const behind = 20 * time.Second
	a := newArrival()
	a.want(t, "on an old subscription", a.of(testSession, 1, behind), nil)
	a.to = &natsSub{since: a.now}
	a.want(t, "on a new subscription", a.of(testSession, 2, behind), nil)
	a.want(t, "recorded ten seconds before", a.of(testSession, 3, behind+10*time.Second), errReplayed)
}

// NATS sends a message once for each subscription it matches.
func TestEverySubscriptionGetsItsCopyOnce(t *testing.T) {
	a := newArrival()
	all, one := a.to, &natsSub{since: a.to.since}
	a.want(t, "first subscription", a.of(testSession, 1, 0), nil)
	a.to = one
	a.want(t, "second subscription", a.of(testSession, 1, 0), nil)
	a.want(t, "second subscription again", a.of(testSession, 1, 0), errReplayed)
	a.want(t, "somebody else in between", a.of(session{4}, 1, 0), nil)
	a.want(t, "second subscription once more", a.of(testSession, 1, 0), errReplayed)
	a.want(t, "the next message", a.of(testSession, 2, 0), nil)
	a.to = all
	a.want(t, "first subscription again", a.of(testSession, 1, 0), errReplayed)
	for range 40 {
		a.to = &natsSub{since: all.since}
		a.want(t, "one of many subscriptions", a.of(testSession, 2, 0), nil)
		a.want(t, "one of many subscriptions again", a.of(testSession, 2, 0), errReplayed)
	}
}

func TestSilentSessionsAreForgottenWhenNothingOfThemCanBePlayedAnyMore(t *testing.T) {
	a := newArrival()
	for i := range byte(50) {
		a.want(t, "a hub that starts again and again", a.of(session{i}, 1, 0), nil)
		a.now = a.now.Add(10 * time.Second)
	}
	if n := len(a.m); n > 8 {
		t.Errorf("%d sessions are remembered, of which at most 8 can matter", n)
	}
	a.want(t, "one that is forgotten", a.of(session{1}, 1, 480*time.Second), errClock)
}

// What is dropped for its time was meant for us: readers must look into the store.
func TestALateMessageOfAKnownHubIsAMissedOne(t *testing.T) {
	a := newArrival()
	late := envelope{nonce: newNonce(testSession, 9), sent: a.now.Add(-time.Hour)}
	if missed, err := a.m.admit(&late, a.to, a.now); missed || !errors.Is(err, errClock) {
		t.Errorf("of a hub nobody knows: missed %v, %v", missed, err)
	}
	a.want(t, "a first message", a.of(testSession, 1, 0), nil)
	if missed, err := a.m.admit(&late, a.to, a.now); !missed || !errors.Is(err, errClock) {
		t.Errorf("of a hub that was heard: missed %v, %v", missed, err)
	}
}
