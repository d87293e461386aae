package ice

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/pion/logging"
	"github.com/pion/stun/v4"
	"github.com/pion/turn/v5"

	"parley.internal/internal/limit"
	"parley.internal/internal/publicnet"
)

// mostRelays is how many one participant may have: a link takes one, and a browser with
// several networks one for each.
const mostRelays = 64

// RelaySettings are what a relay is started with.
type RelaySettings struct {
	// Listen is the UDP address that clients send to.
	Listen netip.AddrPort
	// Address is the one they, and whom they talk to, reach it under; invalid is Listen's.
	Address netip.Addr
	// FirstPort and LastPort bound the ports it relays through.
	FirstPort, LastPort uint16
	// Allow are networks it relays to although they are not the public internet.
	Allow []netip.Prefix
}

// Relay is a TURN server for participants of rooms and for nobody else.
type Relay struct {
	settings RelaySettings
	address  netip.AddrPort
	secret   string
	server   *turn.Server

	mu      sync.Mutex
	guests  map[string]*guest
	swept   time.Time
	ports   map[uint16]*socket
	callers map[string]int // relays by the network of whoever asked
}

// guest is a participant that has a credential.
type guest struct {
	until   time.Time
	sockets map[*socket]bool
}

// Listen starts a relay.
func Listen(ctx context.Context, s RelaySettings) (*Relay, error) {
	if !s.Address.IsValid() {
		s.Address = s.Listen.Addr()
	}
	if s.Address.IsUnspecified() {
		return nil, errors.New("a TURN server that listens on every address needs the one that others reach it under (rooms.turn.address)")
	}
	conn, err := new(net.ListenConfig).ListenPacket(ctx, "udp", s.Listen.String())
	if err != nil {
		return nil, fmt.Errorf("the TURN server cannot listen on %s: %w", s.Listen, err)
	}
	bound := conn.LocalAddr().(*net.UDPAddr).AddrPort()
	r := &Relay{
		settings: s, address: netip.AddrPortFrom(s.Address, bound.Port()), secret: rand.Text(),
		guests: map[string]*guest{}, ports: map[uint16]*socket{}, callers: map[string]int{},
	}
	r.server, err = turn.NewServer(turn.ServerConfig{
		Realm: "parley", AuthHandler: r.authenticate, QuotaHandler: r.hasRoom,
		// A stranger's datagrams are no news, and there may be many.
		LoggerFactory: &logging.DefaultLoggerFactory{DefaultLogLevel: logging.LogLevelDisabled},
		EventHandler: turn.EventHandler{
			OnAllocationCreated: func(from, _ net.Addr, _, _, _ string, _ net.Addr, _ int) { r.count(from, 1) },
			OnAllocationDeleted: func(from, _ net.Addr, _, _, _ string) { r.count(from, -1) },
		},
		PacketConnConfigs: []turn.PacketConnConfig{{
			PacketConn: conn, RelayAddressGenerator: relays{r},
			PermissionHandler: func(_ net.Addr, peer net.IP) bool {
				a, ok := netip.AddrFromSlice(peer)
				return ok && r.mayReach(a)
			},
		}},
	})
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return r, nil
}

// Close ends everything it relays.
func (r *Relay) Close() error { return r.server.Close() }

// Relays is how many are open.
func (r *Relay) Relays() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.ports)
}

// admit lets a participant use the relay for a while.
func (r *Relay) admit(who string, now, until time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sweep(now)
	if g := r.guests[who]; g != nil {
		g.until = until
		return
	}
	r.guests[who] = &guest{until: until, sockets: map[*socket]bool{}}
}

// sweep forgets, once a minute, whom nobody has dismissed: a hub that lost a room does not
// hear who leaves it.
func (r *Relay) sweep(now time.Time) {
	if now.Sub(r.swept) < time.Minute {
		return
	}
	r.swept = now
	for who, g := range r.guests {
		if now.After(g.until) && len(g.sockets) == 0 {
			delete(r.guests, who)
		}
	}
}

func (r *Relay) dismiss(who string) {
	r.mu.Lock()
	g := r.guests[who]
	delete(r.guests, who)
	r.mu.Unlock()
	if g == nil {
		return
	}
	for s := range g.sockets {
		_ = s.Close()
	}
}

// authenticate finds the key of a credential. One that has ended opens no new relay; what is
// open goes on while its participant is renewed.
func (r *Relay) authenticate(a *turn.RequestAttributes) (user string, key []byte, ok bool) {
	who, until, ok := readName(a.Username)
	now := time.Now()
	r.mu.Lock()
	g := r.guests[who]
	ok = ok && g != nil && now.Before(g.until) && (a.Method != stun.MethodAllocate || now.Before(until))
	r.mu.Unlock()
	if !ok {
		return "", nil, false
	}
	return who, turn.GenerateAuthKey(a.Username, a.Realm, password(r.secret, a.Username)), true
}

// hasRoom refuses a participant with many relays, and a network that would have half of all.
func (r *Relay) hasRoom(who, _ string, from net.Addr) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	g := r.guests[who]
	all := int(r.settings.LastPort-r.settings.FirstPort) + 1
	return g != nil && len(g.sockets) < mostRelays && r.callers[limit.Network(from.String())] < max(all/2, 1)
}

func (r *Relay) count(from net.Addr, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	network := limit.Network(from.String())
	if r.callers[network] += n; r.callers[network] <= 0 {
		delete(r.callers, network)
	}
}

// mayReach tells whether anything may be relayed to an address: to the public internet, to
// listed networks, and to this relay itself, behind which the other participant may be.
func (r *Relay) mayReach(a netip.Addr) bool {
	a = a.Unmap()
	return a == r.settings.Address || publicnet.Public(a) || slices.ContainsFunc(r.settings.Allow, func(p netip.Prefix) bool { return p.Contains(a) })
}

// mayReachPort is mayReach for one packet. Of this machine only what other participants
// relay through is reached, whatever is allowed: its other ports are not theirs.
func (r *Relay) mayReachPort(to netip.AddrPort) bool {
	if to.Addr().Unmap() != r.settings.Address {
		return r.mayReach(to.Addr())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ports[to.Port()] != nil
}
