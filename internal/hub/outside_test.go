package hub_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"parley.internal/internal/hub"
	"parley.internal/internal/hub/config"
	"parley.internal/internal/publicnet"
)

// trap is a service on this machine that nobody outside may make a hub talk to.
type trap struct {
	url  string
	port string
	hits atomic.Int32
}

func newTrap(t *testing.T) *trap {
	t.Helper()
	tr := &trap{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		tr.hits.Add(1)
		fmt.Fprint(w, `{"keys":[]}`)
	}))
	t.Cleanup(server.Close)
	tr.url = server.URL
	_, tr.port, _ = net.SplitHostPort(server.Listener.Addr().String())
	return tr
}

// elsewhere is a server at another address of this machine, on the trap's port. It
// stands for the internet: the tests list its address, and not the trap's.
func elsewhere(t *testing.T, tr *trap, handle http.HandlerFunc) string {
	t.Helper()
	address := net.JoinHostPort("127.0.0.2", tr.port)
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Skipf("this system has one loopback address only: %v", err)
	}
	server := &httptest.Server{Listener: l, Config: &http.Server{Handler: handle}} //nolint:gosec // a test's
	server.Start()
	t.Cleanup(server.Close)
	return "http://" + address
}

// out is a hub, and everything of it that goes to addresses others chose.
type out struct{ *rig }

func newOut(t *testing.T, lookup func(context.Context, string) ([]netip.Addr, error), allow ...string) out {
	t.Helper()
	conf, err := config.Load(config.Sources{Data: t.TempDir() + "/data"})
	if err != nil {
		t.Fatal(err)
	}
	conf.Net.AllowPrivate = allow
	h, err := hub.Open(t.Context(), conf, hub.Options{Version: "test", Lookup: lookup})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h.Handler())
	t.Cleanup(func() { server.Close(); h.Close() })
	owner, err := hub.Folder(conf.Data).OwnerToken()
	if err != nil {
		t.Fatal(err)
	}
	return out{&rig{Hub: h, t: t, url: server.URL, owner: owner, conf: conf}}
}

func (o out) visit(url string) error {
	got := o.do(ask{method: "POST", path: "/api/place/visits", token: o.owner, body: fmt.Sprintf(`{"agent":"parley","url":%q,"insecure":true}`, url)})
	if got.status < 300 {
		return nil
	}
	if strings.Contains(string(got.body), publicnet.ErrNotPublic.Error()) {
		return fmt.Errorf("%w: %s", publicnet.ErrNotPublic, got.body)
	}
	return errors.New(string(got.body))
}

func (o out) keys(url string) error {
	_, err := o.FetchKeys(o.t.Context(), url)
	return err
}

func (o out) webhook(url string) error {
	req, err := http.NewRequestWithContext(o.t.Context(), http.MethodPost, url, strings.NewReader("{}"))
	if err != nil {
		return err
	}
	client := o.Webhooks()
	defer client.CloseIdleConnections()
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode >= 300 {
		return errors.New(res.Status)
	}
	return nil
}

// ways are the ways out whose addresses somebody else may choose.
func (o out) ways() map[string]func(string) error {
	return map[string]func(string) error{"a visit": o.visit, "a room's key server": o.keys, "a webhook": o.webhook}
}

func TestAddressesInsideAreRefused(t *testing.T) {
	tr := newTrap(t)
	for what, way := range newOut(t, nil).ways() {
		for _, url := range []string{tr.url, "http://localhost:" + tr.port, "http://[::1]:" + tr.port, "http://2130706433:" + tr.port} {
			if err := way(url); !errors.Is(err, publicnet.ErrNotPublic) {
				t.Errorf("%s to %s: %v, want a refusal", what, url, err)
			}
		}
	}
	if n := tr.hits.Load(); n != 0 {
		t.Errorf("what is inside was asked %d times", n)
	}
}

func TestARefusedVisitNamesTheSettingThatAllowsIt(t *testing.T) {
	if err := newOut(t, nil).visit("http://127.0.0.1:1"); err == nil || !strings.Contains(err.Error(), "net.allow_private") {
		t.Errorf("%v, want the name of the setting", err)
	}
}

func TestARedirectInsideIsNotFollowed(t *testing.T) {
	tr := newTrap(t)
	there := elsewhere(t, tr, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, tr.url+r.URL.Path, http.StatusTemporaryRedirect)
	})
	// Not even where the address it leads to may be reached: it was not the one named.
	for _, allow := range []string{"127.0.0.2", "127.0.0.0/8"} {
		for what, way := range newOut(t, nil, allow).ways() {
			if err := way(there); err == nil {
				t.Errorf("%s that is sent elsewhere succeeds", what)
			}
		}
	}
	if n := tr.hits.Load(); n != 0 {
		t.Errorf("what is inside was asked %d times", n)
	}
}

// A name that is looked at once, and then leads inside, is checked at every
// connection.
func TestANameThatChangesItsMindIsRefused(t *testing.T) {
	tr := newTrap(t)
	asked := 0
	elsewhere(t, tr, func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.Header().Set("Connection", "close")
		fmt.Fprint(w, `{"keys":[]}`)
	})
	for _, what := range []string{"a visit", "a room's key server", "a webhook"} {
		t.Run(what, func(t *testing.T) {
			lookups := 0
			o := newOut(t, func(context.Context, string) ([]netip.Addr, error) {
				if lookups++; lookups == 1 {
					return []netip.Addr{netip.MustParseAddr("127.0.0.2")}, nil
				}
				return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
			}, "127.0.0.2")
			before := asked
			_ = o.ways()[what]("http://rebind.example.com:" + tr.port)
			if asked == before {
				t.Fatal("the name did not lead to its first address")
			}
			if err := o.ways()[what]("http://rebind.example.com:" + tr.port); !errors.Is(err, publicnet.ErrNotPublic) {
				t.Errorf("the second time: %v, want a refusal", err)
			}
			if n := tr.hits.Load(); n != 0 {
				t.Errorf("what is inside was asked %d times", n)
			}
		})
	}
}

func TestWhatTheOperatorListsIsReached(t *testing.T) {
	tr := newTrap(t)
	o := newOut(t, nil, "127.0.0.0/8")
	if err := errors.Join(o.keys(tr.url), o.webhook(tr.url)); err != nil || tr.hits.Load() != 2 {
		t.Errorf("%v, %d hits", err, tr.hits.Load())
	}
}

// Whoever writes an address into the settings has chosen it. A name that leads to
// the same address has not been chosen.
func TestAWebhookWrittenAsAnAddressMayBeInside(t *testing.T) {
	tr := newTrap(t)
	conf, err := config.Load(config.Sources{Data: t.TempDir() + "/data"})
	if err != nil {
		t.Fatal(err)
	}
	conf.Notify = []config.NotifyTarget{{Webhook: tr.url + "/hook"}}
	h, err := hub.Open(t.Context(), conf, hub.Options{Lookup: func(context.Context, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	o := out{&rig{Hub: h, t: t}}
	if err := o.webhook(tr.url + "/hook"); err != nil || tr.hits.Load() != 1 {
		t.Errorf("the address of the settings: %v", err)
	}
	if err := o.webhook("http://evil.example.com:" + tr.port); !errors.Is(err, publicnet.ErrNotPublic) || tr.hits.Load() != 1 {
		t.Errorf("a name that leads to it: %v, want a refusal", err)
	}
	if err := o.keys(tr.url); !errors.Is(err, publicnet.ErrNotPublic) {
		t.Errorf("somebody else who names it: %v, want a refusal", err)
	}
}
