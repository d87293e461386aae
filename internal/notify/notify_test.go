package notify

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley.internal/internal/approval"
	"parley.internal/internal/bus"
	"parley.internal/internal/identity"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const alice = "alice-id"

// heard is one request a target got.
type heard struct {
	path   string
	header http.Header
	body   []byte
}

// ear is a server that hears notices; answers can be changed.
type ear struct {
	*httptest.Server
	got    chan heard
	status atomic.Int64
}

func listen(t *testing.T) *ear {
	t.Helper()
	e := &ear{got: make(chan heard, 64)}
	e.status.Store(201)
	e.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		e.got <- heard{r.URL.Path, r.Header, body}
		w.WriteHeader(int(e.status.Load()))
	}))
	t.Cleanup(e.Close)
	return e
}

func (e *ear) next(t *testing.T) heard {
	t.Helper()
	select {
	case h := <-e.got:
		return h
	case <-t.Context().Done():
		t.Fatal("nothing was told")
		return heard{}
	}
}

// world is a hub's notices with one ear.
type world struct {
	ear   *ear
	inbox *approval.Inbox
	n     *Notices
	page  atomic.Bool // whether alice's page is still logged in
}

func newWorld(t *testing.T, db *store.DB, targets ...Target) *world {
	t.Helper()
	w := &world{ear: listen(t)}
	w.page.Store(true)
	for i := range targets {
		targets[i].Webhook = at(w.ear, targets[i].Webhook)
		targets[i].Ntfy = at(w.ear, targets[i].Ntfy)
	}
	b := bus.NewLocal()
	t.Cleanup(func() { _ = b.Close() })
	var err error
	if w.inbox, err = approval.Open(t.Context(), db, b, approval.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.inbox.Close() })
	w.n = w.start(t, db, targets)
	return w
}

func (w *world) start(t *testing.T, db *store.DB, targets []Target) *Notices {
	t.Helper()
	n, err := Open(t.Context(), Deps{
		DB: db, Inbox: w.inbox, Seed: []byte("seed"), Targets: targets,
		Owner:      func(context.Context) (string, error) { return alice, nil },
		PageStands: func(context.Context, string) (bool, error) { return w.page.Load(), nil },
		URL:        func() string { return "http://hub.test" },
		Client:     w.ear.Client(), Push: w.ear.Client(), Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close(); w.ear.Client().CloseIdleConnections() })
	return n
}

func at(e *ear, path string) string {
	if path == "" {
		return ""
	}
	return e.URL + path
}

func (w *world) ask(t *testing.T, args string) string {
	t.Helper()
	p, err := w.inbox.Ask(t.Context(), approval.Request{
		Principal: alice, Kind: approval.KindTool, Tool: "shell", Arguments: json.RawMessage(args), RequestedBy: "agent:parley", Timeout: time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	return p.ID()
}

func TestAWebhookIsToldThatSomethingWaitsAndNotWhat(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		w := newWorld(t, db, Target{Webhook: "/hook", Secret: "s3cret"})
		id := w.ask(t, `{"command":"cat /etc/secret"}`)
		h := w.ear.next(t)
		if strings.Contains(string(h.body), "/etc/secret") {
			t.Errorf("the webhook was told the arguments: %s", h.body)
		}
		var body webhookBody
		if err := json.Unmarshal(h.body, &body); err != nil {
			t.Fatal(err)
		}
		if body.ID != id || body.Kind != "approval" || body.Title != "May shell run?" || body.URL != "http://hub.test/inbox/"+id {
			t.Errorf("%+v", body)
		}
		if want := "sha256=" + Sign("s3cret", h.header.Get("Parley-Timestamp"), h.body); h.header.Get("Parley-Signature") != want {
			t.Error("the signature does not fit the body")
		}
	})
}

func TestNtfyGetsTopicTitleAndALinkButNoWayToDecide(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t), Target{Ntfy: "/some/topic", Secret: "tk_1"})
	id := w.ask(t, `{"command":"ls"}`)
	h := w.ear.next(t)
	var body ntfyBody
	if err := json.Unmarshal(h.body, &body); err != nil {
		t.Fatal(err)
	}
	if h.path != "/some/" || body.Topic != "topic" || body.Click != "http://hub.test/inbox/"+id || h.header.Get("Authorization") != "Bearer tk_1" {
		t.Errorf("%s %+v", h.path, body)
	}
	for _, a := range body.Actions {
		if a.Action != "view" {
			t.Errorf("an action that decides: %+v", a)
		}
	}
}

func TestTwoHubsTellOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		targets := []Target{{Webhook: "/hook"}}
		w := newWorld(t, db, targets...)
		w.start(t, db, targets)
		first, second := w.ask(t, `{"n":1}`), w.ask(t, `{"n":2}`)
		told := map[string]int{}
		for range 2 {
			var body webhookBody
			if err := json.Unmarshal(w.ear.next(t).body, &body); err != nil {
				t.Fatal(err)
			}
			told[body.ID]++
		}
		if told[first] != 1 || told[second] != 1 {
			t.Errorf("told %v", told)
		}
	})
}

func TestATargetThatFailsIsAskedAgainAndOneThatRefusesIsNot(t *testing.T) {
	db := storetest.SQLite(t)
	w := newWorld(t, db, Target{Webhook: "/hook"})
	w.ear.status.Store(503)
	failing := w.ask(t, `{"n":1}`)
	w.ear.next(t)
	w.ear.status.Store(410)
	refused := w.ask(t, `{"n":2}`)
	for told := ""; told != refused; { // the failing one may come again in between
		var body webhookBody
		if err := json.Unmarshal(w.ear.next(t).body, &body); err != nil {
			t.Fatal(err)
		}
		told = body.ID
	}
	done, tries := int64(0), int64(0)
	for done == 0 { // refused for good: ticked off, not put off
		done, tries = row(t, db, refused)
	}
	if tries != 1 {
		t.Errorf("asked %d times although it refused for good", tries)
	}
	if done, tries := row(t, db, failing); done == 1 && tries == 1 {
		t.Error("a target that failed once was given up")
	}
}

func row(t *testing.T, db *store.DB, id string) (done, tries int64) {
	t.Helper()
	err := db.Read(t.Context(), func(tx *store.Tx) error {
		return tx.QueryRow(`SELECT done, tries FROM notices WHERE id = ?`, id).Scan(&done, &tries)
	})
	if err != nil {
		t.Fatal(err)
	}
	return done, tries
}

func TestWhatWasAnsweredIsNotToldAnyMore(t *testing.T) {
	db := storetest.SQLite(t)
	w := newWorld(t, db, Target{Webhook: "/hook"})
	w.ear.status.Store(503)
	id := w.ask(t, `{}`)
	w.ear.next(t)
	if _, err := w.inbox.Cancel(t.Context(), id, "over"); err != nil {
		t.Fatal(err)
	}
	for done := int64(0); done == 0; {
		done, _ = row(t, db, id)
	}
}

// browser is the far end of a push subscription.
type browser struct {
	key  *ecdh.PrivateKey
	auth []byte
	sub  Subscription
}

func newBrowser(t *testing.T, endpoint string) *browser {
	t.Helper()
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	b := &browser{key: key, auth: make([]byte, 16)}
	_, _ = rand.Read(b.auth)
	code := base64.RawURLEncoding.EncodeToString
	b.sub = Subscription{Endpoint: endpoint, P256dh: code(key.PublicKey().Bytes()), Auth: code(b.auth)}
	return b
}

// open does what a browser does with a push message (RFC 8291 over RFC 8188).
func (b *browser) open(t *testing.T, message []byte) pushBody {
	t.Helper()
	salt, keyLen := message[:16], int(message[20])
	serverKey, sealed := message[21:21+keyLen], message[21+keyLen:]
	server, err := ecdh.P256().NewPublicKey(serverKey)
	if err != nil {
		t.Fatal(err)
	}
	shared, err := b.key.ECDH(server)
	if err != nil {
		t.Fatal(err)
	}
	info := "WebPush: info\x00" + string(b.key.PublicKey().Bytes()) + string(serverKey)
	ikm, _ := hkdf.Key(sha256.New, shared, b.auth, info, 32)
	key, _ := hkdf.Key(sha256.New, ikm, salt, "Content-Encoding: aes128gcm\x00", 16)
	nonce, _ := hkdf.Key(sha256.New, ikm, salt, "Content-Encoding: nonce\x00", 12)
	block, _ := aes.NewCipher(key)
	gcm, _ := cipher.NewGCM(block)
	plain, err := gcm.Open(nil, nonce, sealed, nil)
	if err != nil {
		t.Fatal(err)
	}
	plain = []byte(strings.TrimRight(string(plain), "\x00"))
	var body pushBody
	if err := json.Unmarshal(plain[:len(plain)-1], &body); err != nil {
		t.Fatalf("%q: %v; want no error", plain, err)
	}
	return body
}

func page() identity.Actor {
	return identity.Actor{Person: identity.Principal{Kind: identity.KindPerson, ID: alice, Name: "alice"}, Via: identity.Via{PageID: "page-1"}}
}

func TestAPushIsSealedForTheBrowserAndShowsWhatWouldRun(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t))
	b := newBrowser(t, w.ear.URL+"/push/1")
	if err := w.n.Subscribe(t.Context(), page(), b.sub); err != nil {
		t.Fatal(err)
	}
	id := w.ask(t, `{"command":"rm old.txt"}`)
	h := w.ear.next(t)
	if h.header.Get("Content-Encoding") != "aes128gcm" || !strings.HasPrefix(h.header.Get("Authorization"), "vapid t=") || strings.Contains(string(h.body), "rm old") {
		t.Errorf("headers %v", h.header)
	}
	got := b.open(t, h.body)
	if got.Approval != id || got.Text != `{"command":"rm old.txt"}` || got.Path != "/inbox/"+id {
		t.Errorf("%+v", got)
	}
}

func TestWhatDoesNotFitCannotBeApprovedFromTheNotice(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t))
	b := newBrowser(t, w.ear.URL+"/push/1")
	if err := w.n.Subscribe(t.Context(), page(), b.sub); err != nil {
		t.Fatal(err)
	}
	w.ask(t, `{"command":"`+strings.Repeat("x", roomForText)+`"}`)
	if got := b.open(t, w.ear.next(t).body); got.Approval != "" || len(got.Text) > 200 {
		t.Errorf("%+v; want got.Approval to be \"\", len(got.Text) to be at most 200", got)
	}
}

// A system shows two hundred characters of a notice, and the yes button was on one of
// fifteen hundred; directions and escapes went through as they were.
func TestANoticeIsAnsweredOnlyIfAllOfItIsSeen(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t))
	b := newBrowser(t, w.ear.URL+"/push/1")
	if err := w.n.Subscribe(t.Context(), page(), b.sub); err != nil {
		t.Fatal(err)
	}
	w.ask(t, `{"command":"echo `+strings.Repeat("harmless ", 40)+`; rm -rf x"}`)
	if got := b.open(t, w.ear.next(t).body); got.Approval != "" {
		t.Errorf("a text that a system cuts can be approved from the notice: %+v", got)
	}
	w.ask(t, "{\"command\":\"rm \u202e\u200bx\"}")
	if got := b.open(t, w.ear.next(t).body); got.Text != `{"command":"rm ⟨U+202E⟩⟨U+200B⟩x"}` {
		t.Errorf("what hides is not written out: %q", got.Text)
	}
}

func TestASubscriptionEndsWithItsLogin(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t))
	b := newBrowser(t, w.ear.URL+"/push/1")
	if err := w.n.Subscribe(t.Context(), page(), b.sub); err != nil {
		t.Fatal(err)
	}
	w.page.Store(false)
	w.ask(t, `{}`)
	for list := []string{""}; len(list) > 0; {
		var err error
		if list, err = w.n.browsers(t.Context(), alice); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case h := <-w.ear.got:
		t.Errorf("a logged-out browser was told %v", h.path)
	default:
	}
}

func TestABrowserThatIsGoneIsForgotten(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t))
	w.ear.status.Store(410)
	if err := w.n.Subscribe(t.Context(), page(), newBrowser(t, w.ear.URL+"/push/1").sub); err != nil {
		t.Fatal(err)
	}
	w.ask(t, `{}`)
	w.ear.next(t)
	for list := []string{""}; len(list) > 0; {
		list, _ = w.n.browsers(t.Context(), alice)
	}
}

func TestOnlyPagesSubscribeAndOnlyWithRealKeys(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t))
	good := newBrowser(t, "https://push.example.org/1").sub
	token := page()
	token.PageID = ""
	if err := w.n.Subscribe(t.Context(), token, good); err == nil {
		t.Error("a token subscribed")
	}
	for name, bad := range map[string]Subscription{
		"plain":     {"http://push.example.org/1", good.P256dh, good.Auth},
		"no host":   {"https:///1", good.P256dh, good.Auth},
		"not a key": {good.Endpoint, "AAAA", good.Auth},
		"short":     {good.Endpoint, good.P256dh, "AAAA"},
	} {
		if err := w.n.Subscribe(t.Context(), page(), bad); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

func TestAnotherPersonCannotEndASubscription(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t))
	b := newBrowser(t, "https://push.example.org/1")
	if err := w.n.Subscribe(t.Context(), page(), b.sub); err != nil {
		t.Fatal(err)
	}
	mallory := page()
	mallory.Person.ID = "mallory"
	if err := w.n.Unsubscribe(t.Context(), mallory, b.sub.Endpoint); err != nil {
		t.Fatal(err)
	}
	if list, _ := w.n.browsers(t.Context(), alice); len(list) != 1 {
		t.Error("mallory ended it")
	}
	if err := w.n.Unsubscribe(t.Context(), page(), b.sub.Endpoint); err != nil {
		t.Fatal(err)
	}
	if list, _ := w.n.browsers(t.Context(), alice); len(list) != 0 {
		t.Error("alice could not end it")
	}
}

func TestTheKeyIsTheSameAfterARestart(t *testing.T) {
	a, err := newPushKey([]byte("seed"))
	if err != nil {
		t.Fatal(err)
	}
	b, _ := newPushKey([]byte("seed"))
	c, _ := newPushKey([]byte("other"))
	if *a != *b || *a == *c {
		t.Error(a, b, c)
	}
}

// A question that may wait for days is told a second time, in its time, and no third.
func TestAQuestionThatWaitsLongIsToldOnceMore(t *testing.T) {
	for _, c := range []struct {
		waits time.Duration
		after time.Duration // 0: never
	}{{7 * 24 * time.Hour, 24 * time.Hour}, {time.Hour, 30 * time.Minute}, {5 * time.Minute, 0}} {
		db := storetest.SQLite(t)
		w := newWorld(t, db, Target{Webhook: "/hook"})
		p, err := w.inbox.Ask(t.Context(), approval.Request{Principal: alice, Kind: approval.KindTool, Tool: "shell", Timeout: c.waits})
		if err != nil {
			t.Fatal(err)
		}
		w.ear.next(t)
		var due, all int64
		if err := db.Read(t.Context(), func(tx *store.Tx) error {
			return tx.QueryRow(`SELECT count(*), coalesce(max(due), 0) FROM notices WHERE id = ?`, reminderID(p.ID())).Scan(&all, &due)
		}); err != nil {
			t.Fatal(err)
		}
		if c.after == 0 {
			if all != 0 {
				t.Errorf("a question of %v has %d reminders, want none", c.waits, all)
			}
			continue
		}
		if got := store.Time(due).Sub(p.Item().Created); all != 1 || got != c.after {
			t.Errorf("a question of %v has %d reminders after %v, want one after %v", c.waits, all, got, c.after)
		}
		if _, err := w.inbox.Cancel(t.Context(), p.ID(), "over"); err != nil {
			t.Fatal(err)
		}
		for done := int64(0); done == 0; {
			done, _ = row(t, db, reminderID(p.ID()))
		}
	}
}
