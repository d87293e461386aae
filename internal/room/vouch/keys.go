package vouch

import (
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"

	"parley.internal/protocol/kibitz"
)

// MaxKeySet is the largest key set a fetch may give.
const MaxKeySet = 256 << 10

// How long a fetched key set counts, how often an unknown key makes it be fetched
// again, and how long a fetch may take.
const (
	keySetLife    = time.Hour
	keySetRefetch = 30 * time.Second
	keySetTime    = 5 * time.Second
)

// CheckKeyURL allows https, and plain http to this machine.
func CheckKeyURL(raw string) error {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.User != nil {
		return errors.New("not an address of a key server")
	}
	host := strings.ToLower(u.Hostname())
	addr, _ := netip.ParseAddr(host)
	switch {
	case u.Scheme == "https":
		return nil
	case u.Scheme == "http" && (host == "localhost" || addr.IsLoopback()):
		return nil
	}
	return errors.New("key servers are asked over https only")
}

// Keys are the key sets of those who vouch for others, fetched when they are needed.
type Keys struct {
	fetch func(ctx context.Context, url string) ([]byte, error)
	mu    sync.Mutex
	sets  map[string]*keySet
}

// keySet is one address. Its lock is held while it is fetched, so that many who
// need it ask once.
type keySet struct {
	lock    chan struct{}
	raw     []byte
	fetched time.Time
	tried   time.Time
}

// mostKeySets is how many key sets are kept; the table is emptied beyond.
const mostKeySets = 256

// NewKeys keeps what fetch reads; nil reaches nobody.
func NewKeys(fetch func(ctx context.Context, url string) ([]byte, error)) *Keys {
	return &Keys{fetch: fetch, sets: map[string]*keySet{}}
}

func (k *Keys) set(uri string) *keySet {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.sets[uri]
	if s == nil {
		if len(k.sets) >= mostKeySets {
			clear(k.sets)
		}
		s = &keySet{lock: make(chan struct{}, 1)}
		k.sets[uri] = s
	}
	return s
}

// get gives the key set of an address; has tells whether it holds the key that
// is looked for.
func (k *Keys) get(ctx context.Context, uri string, has func(raw []byte) bool) ([]byte, error) {
	if k.fetch == nil {
		return nil, errors.New("no key server can be reached")
	}
	if err := CheckKeyURL(uri); err != nil {
		return nil, err
	}
	s := k.set(uri)
	select {
	case s.lock <- struct{}{}:
		defer func() { <-s.lock }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	now := time.Now()
	fresh := s.raw != nil && now.Sub(s.fetched) < keySetLife
	if fresh && (has(s.raw) || now.Sub(s.tried) < keySetRefetch) {
		return s.raw, nil
	}
	s.tried = now
	ctx, cancel := context.WithTimeout(ctx, keySetTime)
	defer cancel()
	raw, err := k.fetch(ctx, uri)
	if err == nil && (len(raw) > MaxKeySet || !json.Valid(raw)) {
		err = errors.New("not a key set")
	}
	if err != nil {
		if fresh {
			return s.raw, nil
		}
		return nil, err
	}
	s.raw, s.fetched = raw, now
	return raw, nil
}

// jose gives a key set for tokens of go-jose: the one that is written in the
// policy, or the address's.
func (k *Keys) jose(ctx context.Context, inline kibitz.Raw, uri, kid string) (*jose.JSONWebKeySet, error) {
	raw := []byte(inline)
	if len(raw) == 0 {
		var err error
		raw, err = k.get(ctx, uri, func(raw []byte) bool {
			set, err := parseSet(raw)
			return err == nil && (kid == "" || len(set.Key(kid)) > 0)
		})
		if err != nil {
			return nil, err
		}
	}
	return parseSet(raw)
}

// parseSet reads a key set, leaving out keys it does not understand.
func parseSet(raw []byte) (*jose.JSONWebKeySet, error) {
	var list struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, err
	}
	set := &jose.JSONWebKeySet{}
	for _, one := range list.Keys {
		var key jose.JSONWebKey
		if json.Unmarshal(one, &key) == nil && key.Valid() {
			set.Keys = append(set.Keys, key)
		}
	}
	return set, nil
}

// Credit judges a credit by the policy's key set.
func (k *Keys) Credit(ctx context.Context, token string, p kibitz.CreditPolicy, room string) (*kibitz.Credit, error) {
	if token == "" {
		return nil, refuse(kibitz.CreditRequired, "this room asks agents for a credit")
	}
	raw := []byte(p.JWKS)
	if len(raw) == 0 {
		kid, named := kibitz.CreditKid(token)
		var err error
		raw, err = k.get(ctx, p.JWKSURI, func(raw []byte) bool {
			set, err := kibitz.ParseKeySet(raw)
			return err == nil && (!named || set.HasKid(kid))
		})
		if err != nil {
			return nil, kibitz.CreditRefusal("credit keys unavailable")
		}
	}
	set, err := kibitz.ParseKeySet(raw)
	if err != nil {
		return nil, kibitz.CreditRefusal("credit keys unavailable")
	}
	return kibitz.VerifyCredit(token, kibitz.CreditRules{Issuers: p.Issuer, Kind: p.Kind, Room: room, Keys: set}, time.Now())
}

func refuse(code kibitz.Code, reason string) error {
	return &kibitz.Refusal{Code: code, Reason: reason}
}
