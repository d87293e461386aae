package ice_test

import (
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pion/logging"
	"github.com/pion/turn/v5"
	"go.uber.org/goleak"

	"parley.internal/internal/room/ice"
	"parley.internal/protocol/kibitz"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCredentialsAreForParticipantsOnly(t *testing.T) {
	servers, err := ice.New([]string{"stun:stun.example.org:3478", "turns:turn.example.org:5349?transport=tcp"}, "shared", nil)
	if err != nil {
		t.Fatal(err)
	}
	door := []kibitz.ICEServer{{URLs: []string{"stun:stun.example.org:3478"}}}
	if diff := cmp.Diff(door, servers.Open()); diff != "" {
		t.Errorf("what is told at the door: %s", diff)
	}
	// The name and the password that any server with this secret computes for itself.
	inside := append(door, kibitz.ICEServer{
		URLs: []string{"turns:turn.example.org:5349?transport=tcp"}, Username: "1700003600:p1", Credential: "vkGGrpNMvab/jeqsG5+ZMLtDOUc=",
	})
	if diff := cmp.Diff(inside, servers.For("p1", time.Unix(1_700_000_000, 0))); diff != "" {
		t.Errorf("what a participant is told: %s", diff)
	}
}

func TestServersThatMakeNoSenseAreRefused(t *testing.T) {
	for _, c := range []struct{ address, secret, want string }{
		{"https://turn.example.org", "s", "is not stun:HOST:PORT"},
		{"turn:turn.example.org", "", "needs the secret"},
	} {
		if _, err := ice.New([]string{c.address}, c.secret, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want it to say %q", c.address, err, c.want)
		}
	}
}

func TestWithoutServersNobodyIsToldOfAny(t *testing.T) {
	var none *ice.Servers
	if got := none.For("p1", time.Now()); got != nil || none.Open() != nil {
		t.Errorf("got %v, want none", got)
	}
	none.Gone("p1")
}

var loopback = netip.MustParseAddr("127.0.0.1")

func relay(t *testing.T, allow ...netip.Prefix) (*ice.Relay, *ice.Servers) {
	t.Helper()
	r, err := ice.Listen(t.Context(), ice.RelaySettings{Listen: netip.AddrPortFrom(loopback, 0), FirstPort: 20_000, LastPort: 60_000, Allow: allow})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	servers, err := ice.New(nil, "", r)
	if err != nil {
		t.Fatal(err)
	}
	return r, servers
}

// client is a TURN client with somebody's credential.
func client(t *testing.T, given []kibitz.ICEServer) *turn.Client {
	t.Helper()
	last := given[len(given)-1]
	address := strings.TrimSuffix(strings.TrimPrefix(last.URLs[0], "turn:"), "?transport=udp")
	conn, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c, err := turn.NewClient(&turn.ClientConfig{
		TURNServerAddr: address, Conn: conn, Username: last.Username, Password: last.Credential,
		LoggerFactory: &logging.DefaultLoggerFactory{DefaultLogLevel: logging.LogLevelDisabled},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Listen(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		_ = conn.Close()
	})
	return c
}

func allocate(t *testing.T, c *turn.Client) net.PacketConn {
	t.Helper()
	conn, err := c.Allocate()
	if err != nil {
		t.Fatalf("a participant gets no relay: %v", err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func TestTwoParticipantsReachEachOtherThroughTheRelay(t *testing.T) {
	r, servers := relay(t)
	a := allocate(t, client(t, servers.For("pa", time.Now())))
	b := allocate(t, client(t, servers.For("pb", time.Now())))
	// Each opens the way for the other, as ICE does.
	if _, err := b.WriteTo([]byte("hello a"), a.LocalAddr()); err != nil {
		t.Fatal(err)
	}
	if _, err := a.WriteTo([]byte("hello b"), b.LocalAddr()); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 100)
	n, from, err := b.ReadFrom(got)
	if err != nil || string(got[:n]) != "hello b" || from.String() != a.LocalAddr().String() {
		t.Fatalf("the second heard %q from %v, %v; want the first's words from its relay", got[:n], from, err)
	}
	if r.Relays() != 2 {
		t.Errorf("%d relays are open, want 2", r.Relays())
	}
}

func TestWhoIsInNoRoomGetsNoRelay(t *testing.T) {
	r, servers := relay(t)
	given := servers.For("pa", time.Now())
	mine := given[len(given)-1]
	stale := servers.For("pb", time.Now().Add(-2*ice.Lifetime))
	servers.For("pb", time.Now()) // still there, with a newer credential
	servers.For("pc", time.Now())
	left := servers.For("pd", time.Now())
	servers.Gone("pd")
	for name, c := range map[string]kibitz.ICEServer{
		"a wrong password":        {URLs: mine.URLs, Username: mine.Username, Credential: "wrong"},
		"another's name":          {URLs: mine.URLs, Username: strings.Replace(mine.Username, "pa", "pc", 1), Credential: mine.Credential},
		"a later end":             {URLs: mine.URLs, Username: "9" + mine.Username, Credential: mine.Credential},
		"nobody":                  {URLs: mine.URLs, Username: "pa", Credential: mine.Credential},
		"a credential that ended": stale[len(stale)-1],
		"who has left":            left[len(left)-1],
	} {
		if conn, err := client(t, []kibitz.ICEServer{c}).Allocate(); err == nil {
			_ = conn.Close()
			t.Errorf("%s got a relay", name)
		}
	}
	if r.Relays() != 0 {
		t.Errorf("%d relays are open, want none", r.Relays())
	}
}

func TestARelayEndsWhenItsParticipantLeaves(t *testing.T) {
	r, servers := relay(t)
	allocate(t, client(t, servers.For("pa", time.Now())))
	servers.Gone("pa")
	if r.Relays() != 0 {
		t.Errorf("%d relays are open after their participant left, want none", r.Relays())
	}
}

// A relay is no way into the hub's own machine and network.
func TestNothingInsideIsReachedThroughTheRelay(t *testing.T) {
	_, servers := relay(t)
	conn := allocate(t, client(t, servers.For("pa", time.Now())))
	for _, inside := range []string{"10.0.0.1:53", "192.168.1.1:80", "169.254.169.254:80", "127.0.0.2:53", "224.0.0.1:53", "0.0.0.0:53"} {
		to := net.UDPAddrFromAddrPort(netip.MustParseAddrPort(inside))
		if _, err := conn.WriteTo([]byte("x"), to); err == nil {
			t.Errorf("%s may be reached", inside)
		}
	}
}

func TestOfItsOwnMachineOnlyOtherRelaysAreReached(t *testing.T) {
	_, servers := relay(t, netip.MustParsePrefix("127.0.0.0/8"))
	conn := allocate(t, client(t, servers.For("pa", time.Now())))
	listen := func(address string) net.PacketConn {
		c, err := net.ListenPacket("udp4", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	// The same machine by the relay's own address, and by a listed one: only the latter may hear.
	own, listed := listen("127.0.0.1:0"), listen("127.0.0.3:0")
	for _, to := range []net.PacketConn{own, listed} {
		if _, err := conn.WriteTo([]byte("x"), to.LocalAddr()); err != nil {
			t.Fatal(err)
		}
	}
	buf := make([]byte, 10)
	if _, _, err := listed.ReadFrom(buf); err != nil {
		t.Fatalf("a listed network is not reached: %v", err)
	}
	// What was sent before has arrived before, if at all.
	_ = own.SetReadDeadline(time.Now())
	if n, _, err := own.ReadFrom(buf); err == nil {
		t.Errorf("a port of the hub's machine that is no relay got %q", buf[:n])
	}
}
