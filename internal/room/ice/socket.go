package ice

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"net/netip"
	"time"

	"github.com/pion/turn/v5"
	"golang.org/x/time/rate"
)

// What one relay carries, both ways together: some screens and voices. More is dropped, which
// is what makes senders of media slow down.
const (
	relayRate  = 2 << 20 // bytes a second
	relayBurst = 1 << 20
)

var (
	errNoPort = errors.New("no port is free")
	errNoTCP  = errors.New("only UDP is relayed")
	errGone   = errors.New("the participant has left")
)

// relays opens the sockets that a Relay relays through.
type relays struct{ r *Relay }

// Validate implements turn.RelayAddressGenerator.
func (relays) Validate() error { return nil }

// AllocatePacketConn implements turn.RelayAddressGenerator. Nobody chooses a port.
func (g relays) AllocatePacketConn(c turn.AllocateListenerConfig) (net.PacketConn, net.Addr, error) {
	s := g.r.settings
	first, all := int(s.FirstPort), int(s.LastPort-s.FirstPort)+1
	start := rand.IntN(all) // which port it is need not be hard to guess
	for i := range all {
		port := uint16(first + (start+i)%all)
		if g.r.taken(port) {
			continue
		}
		conn, err := new(net.ListenConfig).ListenPacket(context.Background(), c.Network, netip.AddrPortFrom(s.Listen.Addr(), port).String())
		if err != nil {
			continue
		}
		open, err := g.r.open(c.UserID, port, conn)
		if err != nil {
			_ = conn.Close()
			return nil, nil, err
		}
		return open, net.UDPAddrFromAddrPort(netip.AddrPortFrom(s.Address, port)), nil
	}
	return nil, nil, errNoPort
}

// AllocateListener implements turn.RelayAddressGenerator.
func (relays) AllocateListener(turn.AllocateListenerConfig) (net.Listener, net.Addr, error) {
	return nil, nil, errNoTCP
}

// AllocateConn implements turn.RelayAddressGenerator.
func (relays) AllocateConn(turn.AllocateConnConfig) (net.Conn, error) { return nil, errNoTCP }

func (r *Relay) taken(port uint16) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ports[port] != nil
}

func (r *Relay) open(who string, port uint16, conn net.PacketConn) (*socket, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	g := r.guests[who]
	if g == nil {
		return nil, errGone
	}
	s := &socket{PacketConn: conn, relay: r, who: who, port: port, bucket: rate.NewLimiter(relayRate, relayBurst)}
	r.ports[port], g.sockets[s] = s, true
	return s, nil
}

// socket is one relay's: it reaches what the Relay may, and no more than its share.
type socket struct {
	net.PacketConn
	relay  *Relay
	who    string
	port   uint16
	bucket *rate.Limiter
}

// WriteTo drops what may not be relayed, as the network drops what finds no way.
func (s *socket) WriteTo(data []byte, to net.Addr) (int, error) {
	peer, ok := to.(*net.UDPAddr)
	if !ok || !s.relay.mayReachPort(peer.AddrPort()) || !s.bucket.AllowN(time.Now(), len(data)) {
		return len(data), nil
	}
	return s.PacketConn.WriteTo(data, to)
}

func (s *socket) ReadFrom(data []byte) (int, net.Addr, error) {
	for {
		n, from, err := s.PacketConn.ReadFrom(data)
		if err != nil || s.bucket.AllowN(time.Now(), n) {
			return n, from, err
		}
	}
}

// Close gives the port back.
func (s *socket) Close() error {
	s.relay.mu.Lock()
	if s.relay.ports[s.port] == s {
		delete(s.relay.ports, s.port)
	}
	if g := s.relay.guests[s.who]; g != nil {
		delete(g.sockets, s)
	}
	s.relay.mu.Unlock()
	return s.PacketConn.Close()
}
