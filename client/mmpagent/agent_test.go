package mmpagent_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"parley.internal/client/mmpagent"
	"parley.internal/internal/place"
	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/board"
	"parley.internal/protocol/mmp/meeting"
	"parley.internal/protocol/mmp/relay"
)

func TestASignedMessageCrosses(t *testing.T) {
	for _, auth := range []place.Auth{place.Open, place.TOFU, place.Strict} {
		t.Run(string(auth), func(t *testing.T) {
			w := newWorld(t, place.Config{Auth: auth})
			peers := &mmpagent.Peers{}
			ada, bob := w.agent(0, "ada"), w.agent(1, "bob", func(o *mmpagent.Options) { o.Peers = peers })
			sent, err := ada.Send(t.Context(), "bob", "note", map[string]string{"tea": "grün <&>"})
			if err != nil || sent.Version != 2 {
				t.Fatalf("%+v %v; want no error, sent.Version to be 2", sent, err)
			}
			m := one(t, bob)
			if m.Problem != nil || !m.Signed || !m.SenderProven || m.Version != 2 || m.Level != "L1" || string(m.Plain) != `{"tea":"grün <&>"}` || m.KeyID != shared()[0].Ring.RSA.Public().KeyID() {
				t.Errorf("%+v", m)
			}
			info, err := bob.Info(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := peers.Trust(info.PlaceID, "ada", m.KeyID); err != nil {
				t.Fatal(err)
			}
			if _, err := ada.Send(t.Context(), "bob", "note", "again"); err != nil {
				t.Fatal(err)
			}
			if m := one(t, bob); m.Level != "L0" || m.Content.Text != "again" {
				t.Errorf("%+v; want m.Level to be \"L0\", m.Content.Text to be \"again\"", m)
			}
			if f, err := ada.Fate(t.Context(), sent.RelayID); err != nil || f.Status != relay.FateReceived {
				t.Errorf("%+v %v; want no error, f.Status to be %v", f, err, relay.FateReceived)
			}
		})
	}
}

func TestWithoutAnEntryEnvelope1IsUsedAndNeverAgainAfterOne(t *testing.T) {
	w := newWorld(t, place.Config{Auth: place.TOFU})
	peers := &mmpagent.Peers{}
	ada := w.agent(0, "ada", func(o *mmpagent.Options) { o.Peers = peers })
	// An old client: it registers a bare key.
	old := post(t, w, "/place/v1/keys/register", map[string]string{"agent_id": "bob", "public_key": shared()[1].Ring.RSA.Public().PEM()})
	if old != http.StatusCreated {
		t.Fatalf("old is %v; want %v", old, http.StatusCreated)
	}
	if sent, err := ada.Send(t.Context(), "bob", "note", "x"); err != nil || sent.Version != 1 {
		t.Fatalf("%+v %v; want no error, sent.Version to be 1", sent, err)
	}
	bob, err := mmpagent.Open(w.url, mmpagent.Options{ID: "bob", Keys: shared()[1], HTTP: w.http})
	if err != nil {
		t.Fatal(err)
	}
	got, err := bob.Receive(t.Context(), mmpagent.ReceiveOptions{})
	if err != nil || len(got) != 1 || got[0].Signed || got[0].Version != 1 || got[0].Content.Text != "x" || got[0].Level != "L1" {
		t.Fatalf("%+v %v", got, err)
	}

	if _, err := bob.Register(t.Context()); err != nil { // publishes an entry
		t.Fatal(err)
	}
	if sent, err := ada.Send(t.Context(), "bob", "note", "y"); err != nil || sent.Version != 2 {
		t.Fatalf("%+v %v; want no error, sent.Version to be 2", sent, err)
	}
	// The place (or whoever took it over) hides the entry now.
	if err := w.place.Forget(t.Context(), operator, "bob"); err != nil {
		t.Fatal(err)
	}
	post(t, w, "/place/v1/keys/register", map[string]string{"agent_id": "bob", "public_key": shared()[1].Ring.RSA.Public().PEM()})
	if _, err := ada.Send(t.Context(), "bob", "note", "z"); !errors.Is(err, mmpagent.ErrDowngrade) {
		t.Errorf("got %v", err)
	}
	willing := w.agent(0, "ada", func(o *mmpagent.Options) { o.Peers, o.AllowDowngrade = peers, true })
	if sent, err := willing.Send(t.Context(), "bob", "note", "z"); err != nil || sent.Version != 1 {
		t.Errorf("%+v %v; want no error, sent.Version to be 1", sent, err)
	}
}

func TestAChangedKeyIsAnAlarmAndNothingIsSealedForIt(t *testing.T) {
	w := newWorld(t, place.Config{Auth: place.TOFU})
	file := t.TempDir() + "/peers.json"
	open := func() *mmpagent.Peers {
		p, err := mmpagent.OpenPeers(file)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	ada := w.agent(0, "ada", func(o *mmpagent.Options) { o.Peers = open() })
	w.agent(1, "bob")
	if _, err := ada.Send(t.Context(), "bob", "note", "x"); err != nil {
		t.Fatal(err)
	}
	if err := w.place.Forget(t.Context(), operator, "bob"); err != nil {
		t.Fatal(err)
	}
	w.agent(2, "bob")
	again := w.agent(0, "ada", func(o *mmpagent.Options) { o.Peers = open() }) // pins outlive the program
	_, err := again.Send(t.Context(), "bob", "note", "y")
	change, ok := errors.AsType[*mmpagent.KeyChange](err)
	if !errors.Is(err, mmpagent.ErrKeyChanged) || !ok || change.Now != shared()[2].Ring.RSA.Public().KeyID() {
		t.Fatalf("got %v", err)
	}
	info, err := again.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	peers := open()
	if err := peers.Accept(info.PlaceID, "bob", change.Now); err != nil {
		t.Fatal(err)
	}
	accepted := w.agent(0, "ada", func(o *mmpagent.Options) { o.Peers = peers })
	if _, err := accepted.Send(t.Context(), "bob", "note", "z"); err != nil {
		t.Error(err)
	}
}

func TestEachBoundFieldAlteredIsRefusedAndSoIsAReplay(t *testing.T) {
	w := newWorld(t, place.Config{Auth: place.TOFU})
	ada, bob := w.agent(0, "ada"), w.agent(1, "bob")
	w.agent(2, "eve")
	send := func() relay.Message {
		if _, err := ada.Send(t.Context(), "bob", "note", "x"); err != nil {
			t.Fatal(err)
		}
		return one(t, bob).Message
	}
	fresh := func() *mmpagent.Agent { return w.agent(1, "bob") }
	for reason, change := range map[mmp.Reason]func(*relay.Message){
		mmp.ReasonSenderMismatch: func(m *relay.Message) { m.From = "eve" },
		mmp.ReasonTypeMismatch:   func(m *relay.Message) { m.MessageType = "offer_skill" },
		mmp.ReasonMalformed: func(m *relay.Message) {
			m.Blob = m.Blob[:len(m.Blob)/2]
			m.BlobHash = mmp.HashOf(m.Blob).Bare()
		},
	} {
		m := send()
		change(&m)
		if got := fresh().Open(t.Context(), m); mmp.ReasonOf(got.Problem) != reason || got.Plain != nil {
			t.Errorf("%s: %+v; want mmp.ReasonOf(got.Problem) to be %v, got.Plain to be nil", reason, got.Problem, reason)
		}
	}
	m := send()
	if got := w.agent(2, "eve").Open(t.Context(), m); mmp.ReasonOf(got.Problem) != mmp.ReasonNotForMe {
		t.Errorf("%v; want mmp.ReasonOf(got.Problem) to be %v", got.Problem, mmp.ReasonNotForMe)
	}
	reader := fresh()
	if got := reader.Open(t.Context(), m); got.Problem != nil {
		t.Fatalf("got.Problem is %v; want got.Problem to be nil", got.Problem)
	}
	if got := reader.Open(t.Context(), m); got.Problem != nil {
		t.Errorf("a redelivery of the same message: %v", got.Problem)
	}
	m.ID = "relay_another"
	if got := reader.Open(t.Context(), m); mmp.ReasonOf(got.Problem) != mmp.ReasonReplayed {
		t.Errorf("%v; want mmp.ReasonOf(got.Problem) to be %v", got.Problem, mmp.ReasonReplayed)
	}
	late := send()
	w.clock.pass(25 * time.Hour)
	if got := fresh().Open(t.Context(), late); mmp.ReasonOf(got.Problem) != mmp.ReasonTooOld {
		t.Errorf("%v; want mmp.ReasonOf(got.Problem) to be %v", got.Problem, mmp.ReasonTooOld)
	}
}

func TestAnUnreadableMessageNeverFailsTheBatch(t *testing.T) {
	w := newWorld(t, place.Config{Auth: place.TOFU})
	ada, bob := w.agent(0, "ada"), w.agent(1, "bob")
	for _, blob := range []string{"not base64", "e30=", mustSeal(t, shared()[2], "for another")} {
		if _, err := ada.SendBlob(t.Context(), "bob", "note", blob, mmp.NewNonce()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := ada.Send(t.Context(), "bob", "note", "fine"); err != nil {
		t.Fatal(err)
	}
	got, err := bob.Receive(t.Context(), mmpagent.ReceiveOptions{})
	if err != nil || len(got) != 4 {
		t.Fatalf("%d %v; want no error, len(got) to be 4", len(got), err)
	}
	for i, m := range got[:3] {
		if m.Problem == nil || m.Plain != nil {
			t.Errorf("%d: %+v; want m.Problem not to be nil, m.Plain to be nil", i, m)
		}
	}
	if got[3].Problem != nil {
		t.Errorf("got[3].Problem is %v; want got[3].Problem to be nil", got[3].Problem)
	}
}

func mustSeal(t *testing.T, to mmpagent.Keys, text string) string {
	t.Helper()
	blob, err := mmp.Seal1(to.Ring.RSA.Public(), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return blob
}

func TestASessionThatEndedIsRenewedOnce(t *testing.T) {
	w := newWorld(t, place.Config{Auth: place.Strict})
	ada := w.agent(0, "ada")
	before := ada.Token()
	if _, err := w.place.RevokeTokens(t.Context(), operator, "ada"); err != nil {
		t.Fatal(err)
	}
	if _, err := ada.Heartbeat(t.Context()); err != nil || ada.Token() == before {
		t.Errorf("%v; want no error, ada.Token() not to be before", err)
	}
	stranger, err := mmpagent.Open(w.url, mmpagent.Options{ID: "eve", HTTP: w.http})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stranger.Agents(t.Context(), board.AgentsQuery{}); !errors.Is(err, mmpagent.ErrUnauthorized) {
		t.Errorf("got %v", err)
	}
	thief := mmpagent.Options{ID: "ada", Keys: shared()[1], HTTP: w.http}
	other, err := mmpagent.Open(w.url, thief)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Register(t.Context()); !errors.Is(err, mmpagent.ErrKeyPinned) {
		t.Errorf("got %v", err)
	}
}

func TestAFullQueueIsToldByName(t *testing.T) {
	w := newWorld(t, place.Config{Auth: place.TOFU, QueueLimit: 1})
	ada := w.agent(0, "ada")
	w.agent(1, "bob")
	if _, err := ada.Send(t.Context(), "bob", "note", "x"); err != nil {
		t.Fatal(err)
	}
	if _, err := ada.Send(t.Context(), "bob", "note", "y"); !errors.Is(err, mmpagent.ErrQueueFull) || errors.Is(err, mmpagent.ErrRateLimited) {
		t.Errorf("got %v", err)
	}
}

func TestAKeyIsRotatedAndTheOldOneIsNoGood(t *testing.T) {
	w := newWorld(t, place.Config{Auth: place.Strict})
	ada := w.agent(0, "ada")
	if err := ada.Rotate(t.Context(), shared()[1]); err != nil {
		t.Fatal(err)
	}
	if _, err := ada.Heartbeat(t.Context()); err != nil {
		t.Error(err)
	}
	old, err := mmpagent.Open(w.url, mmpagent.Options{ID: "ada", Keys: shared()[0], HTTP: w.http})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := old.Register(t.Context()); !errors.Is(err, mmpagent.ErrKeyPinned) {
		t.Errorf("got %v", err)
	}
}

func TestRunAcknowledgesAfterTheHandlerAndTakesFailuresAgain(t *testing.T) {
	w := newWorld(t, place.Config{Auth: place.TOFU})
	ada, bob := w.agent(0, "ada"), w.agent(1, "bob")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	type seen struct {
		text    string
		attempt int
	}
	got := make(chan seen, 10)
	done := make(chan error, 1)
	go func() {
		done <- bob.Run(ctx, func(_ context.Context, m mmpagent.Message) error {
			got <- seen{m.Content.Text, m.Attempt}
			if m.Attempt == 1 && m.Content.Text == "twice" {
				return errors.New("not now")
			}
			return nil
		})
	}()
	for _, text := range []string{"once", "twice"} {
		if _, err := ada.Send(t.Context(), "bob", "note", text); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []seen{{"once", 1}, {"twice", 1}, {"twice", 2}} {
		if s := <-got; s != want {
			t.Errorf("got %v, want %v", s, want)
		}
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if st, err := bob.Status(t.Context()); err != nil || st.PendingCount+st.LeasedCount != 0 {
		t.Errorf("%+v %v; want no error, st.PendingCount+st.LeasedCount to be 0", st, err)
	}
}

func TestMessagesAndDepositsAndPostings(t *testing.T) {
	w := newWorld(t, place.Config{Auth: place.TOFU})
	ada, bob := w.agent(0, "ada"), w.agent(1, "bob")
	m, _, err := ada.SendMessage(t.Context(), "bob", meeting.ActionOfferSkill, meeting.OfferSkillPayload{SkillID: "tea", SkillName: "Tea", SkillFormat: "markdown"}, "")
	if err != nil {
		t.Fatal(err)
	}
	read, err := one(t, bob).Read(func(string) bool { return true })
	if err != nil || read.Message == nil || read.Message.ID != m.ID || read.Message.Action != meeting.ActionOfferSkill {
		t.Errorf("%+v %v; want no error, read.Message not to be nil, read.Message.ID to be %v, read.Message.Action to be %v", read, err, m.ID, meeting.ActionOfferSkill)
	}
	if _, err := ada.Deposit(t.Context(), mmpagent.Skill{ID: "tea", Name: "Tea", Content: "# Tea\n"}); err != nil {
		t.Fatal(err)
	}
	if c, err := bob.SkillContent(t.Context(), "tea", "ada"); err != nil || c.Content != "# Tea\n" || !c.TrustNotice.DepositorSigned {
		t.Errorf("%+v %v; want no error, c.Content to be \"# Tea\\n\", c.TrustNotice.DepositorSigned", c, err)
	}
	posted, err := ada.Post(t.Context(), mmpagent.Posting{Type: board.PostOffer, Skill: "Tea", Tags: []string{"drink"}, TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if found, err := bob.Browse(t.Context(), board.BrowseQuery{Tags: []string{"drink"}}); err != nil || len(found) != 1 {
		t.Errorf("%v %v; want no error, len(found) to be 1", found, err)
	}
	if err := bob.RemovePosting(t.Context(), posted.PostingID); err == nil {
		t.Error("another's posting was removed")
	}
	if err := errors.Join(ada.RemovePosting(t.Context(), posted.PostingID), ada.Withdraw(t.Context(), "tea", "old")); err != nil {
		t.Error(err)
	}
	direct, err := ada.Direct(w.url)
	if err != nil {
		t.Fatal(err)
	}
	if in, err := direct.Look(t.Context()); err != nil || in.Name != "parley" {
		t.Errorf("%+v %v; want no error, in.Name to be \"parley\"", in, err)
	}
	if in, err := direct.Introduce(t.Context(), meeting.Introduction{Identity: mmp.Raw(`{"name":"Ada","instance_id":"ada"}`)}); err != nil || !in.IdentityVerified {
		t.Errorf("%+v %v; want no error, in.IdentityVerified", in, err)
	}
}

func TestPlainHTTPToAnotherMachineIsRefused(t *testing.T) {
	if _, err := mmpagent.Open("http://place.example.org", mmpagent.Options{}); !errors.Is(err, mmpagent.ErrInsecure) {
		t.Errorf("got %v", err)
	}
	for _, bad := range []string{"", "place", "ftp://x", "http://"} {
		if _, err := mmpagent.Open(bad, mmpagent.Options{}); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}
