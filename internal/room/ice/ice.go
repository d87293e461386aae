// Package ice is how links between participants of a room get through NAT: which STUN and
// TURN servers they may ask, with credentials that end after an hour, and a TURN server of
// the hub's own.
//
// Whoever is at a room's door learns of servers that need no credential. A participant gets
// one in its own name (the time it ends and its id, and an HMAC over both, as the TURN REST
// convention has it), again before the last one ends. The hub's own server (Relay) honours a
// credential only while its participant is in the roster, relays to the public internet and
// to itself only, and cuts what a participant relays once it has left.
package ice

import (
	"crypto/hmac"
	"crypto/sha1" // the convention that TURN servers share
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pion/stun/v4"

	"parley.internal/protocol/kibitz"
)

// Lifetime is how long a credential opens new relays.
const Lifetime = time.Hour

// Servers knows which servers participants may use. Nil knows none.
type Servers struct {
	open, closed []string
	secret       string
	relay        *Relay
}

// New makes Servers of the operator's own ones, whose secret they share with the hub, and
// of the hub's relay, which may be nil.
func New(addresses []string, secret string, relay *Relay) (*Servers, error) {
	s := &Servers{secret: secret, relay: relay}
	for _, address := range addresses {
		uri, err := stun.ParseURI(address)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%q is not stun:HOST:PORT or turn:HOST:PORT", address)
		case uri.Scheme == stun.SchemeTypeSTUN || uri.Scheme == stun.SchemeTypeSTUNS:
			s.open = append(s.open, address)
		case secret == "":
			return nil, fmt.Errorf("%s needs the secret that this hub shares with it", address)
		default:
			s.closed = append(s.closed, address)
		}
	}
	return s, nil
}

// Open is what anybody may be told: servers that need no credential.
func (s *Servers) Open() []kibitz.ICEServer {
	if s == nil {
		return nil
	}
	urls := slices.Clone(s.open)
	if s.relay != nil {
		urls = append(urls, "stun:"+s.relay.address.String())
	}
	if len(urls) == 0 {
		return nil
	}
	return []kibitz.ICEServer{{URLs: urls}}
}

// For is what a participant may use from now on, for as long as a Lifetime.
func (s *Servers) For(who string, now time.Time) []kibitz.ICEServer {
	out := s.Open()
	if s == nil {
		return nil
	}
	until := now.Add(Lifetime)
	user := credentialName(who, until)
	if len(s.closed) > 0 {
		out = append(out, kibitz.ICEServer{URLs: slices.Clone(s.closed), Username: user, Credential: password(s.secret, user)})
	}
	if s.relay != nil {
		s.relay.admit(who, now, until)
		out = append(out, kibitz.ICEServer{URLs: []string{"turn:" + s.relay.address.String() + "?transport=udp"}, Username: user, Credential: password(s.relay.secret, user)})
	}
	return out
}

// Gone says that a participant has left. What the hub's own relay carries for it ends.
func (s *Servers) Gone(who string) {
	if s != nil && s.relay != nil {
		s.relay.dismiss(who)
	}
}

// credentialName is who a credential is for, and until when.
func credentialName(who string, until time.Time) string {
	return strconv.FormatInt(until.Unix(), 10) + ":" + who
}

// readName is the reverse.
func readName(name string) (who string, until time.Time, ok bool) {
	at, who, ok := strings.Cut(name, ":")
	seconds, err := strconv.ParseInt(at, 10, 64)
	return who, time.Unix(seconds, 0), ok && err == nil && who != ""
}

func password(secret, name string) string {
	mac := hmac.New(sha1.New, []byte(secret))
	mac.Write([]byte(name))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
