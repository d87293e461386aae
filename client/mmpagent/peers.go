package mmpagent

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"parley.internal/protocol/mmp"
)

// Peers remembers whom an agent has met: the key each address had first, whether
// it reads envelope 2, whether a person trusts it, and which signed messages were
// seen. The zero value remembers until the program ends.
type Peers struct {
	mu    sync.Mutex
	path  string
	peers map[string]Peer
	seen  map[mmp.ReplayKey]seen
	// logs is the longest key log each place has shown, by the place's key; told are
	// heads that others have seen of it.
	logs map[string]mmp.Head
	told map[string][]mmp.Head
}

// Peer is one address at one place.
type Peer struct {
	KeyID     string    `json:"key_id"`
	PublicKey string    `json:"public_key"`
	Envelope2 bool      `json:"envelope_2,omitempty"`
	Trusted   bool      `json:"trusted,omitempty"`
	FirstSeen time.Time `json:"first_seen"`
	// Changed is set while the place shows another key than the pinned one.
	Changed string `json:"changed,omitempty"`
	// LogIndex is where its key stands in the place's log, EntryAt when its entry was
	// made: what is older is not taken again.
	LogIndex int64     `json:"log_index,omitempty"`
	EntryAt  time.Time `json:"entry_at,omitzero"`
	// Earlier are keys it had here before, each of which named the next.
	Earlier []string `json:"earlier,omitempty"`
}

// seen is a signed message that arrived. Under the same relay id it may come again
// until it is done with: a lease that ends brings it back.
type seen struct {
	Relay string    `json:"relay"`
	At    time.Time `json:"at"`
	Done  bool      `json:"done,omitempty"`
}

// remember is for how long a message could be accepted after it was first seen: its
// time may be ahead by so much.
const remember = mmp.ReplayWindow + mmp.MaxAhead

type peersFile struct {
	Peers map[string]Peer       `json:"peers"`
	Seen  map[string]seen       `json:"seen,omitempty"`
	Logs  map[string]mmp.Head   `json:"logs,omitempty"`
	Told  map[string][]mmp.Head `json:"told,omitempty"`
}

// OpenPeers reads the file, or begins a new one.
func OpenPeers(path string) (*Peers, error) {
	p := &Peers{path: path}
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return nil, err
	}
	var f peersFile
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	p.peers, p.seen, p.logs, p.told = f.Peers, map[mmp.ReplayKey]seen{}, f.Logs, f.Told
	for key, s := range f.Seen {
		if len(key) > 71 { // a key id, a space, an id
			p.seen[mmp.ReplayKey{FromKey: key[:71], ID: key[72:]}] = s
		}
	}
	return p, nil
}

func peerKey(place, address string) string { return place + " " + address }

// Get finds what is known of an address.
func (p *Peers) Get(place, address string) (Peer, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	peer, ok := p.peers[peerKey(place, address)]
	return peer, ok
}

// All lists every peer by "place address".
func (p *Peers) All() map[string]Peer {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.peers)
}

// Trust marks the key an address is pinned to as looked at by a person.
func (p *Peers) Trust(place, address, keyID string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	peer, ok := p.peers[peerKey(place, address)]
	if !ok || !mmp.SameHash(peer.KeyID, keyID) {
		return fmt.Errorf("%s: %w", address, ErrKeyChanged)
	}
	peer.Trusted = true
	p.peers[peerKey(place, address)] = peer
	return p.save()
}

// Accept pins another key, after a person has asked its owner.
func (p *Peers) Accept(place, address, keyID string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.peers, peerKey(place, address))
	p.put(place, address, Peer{KeyID: keyID, FirstSeen: time.Now().UTC()})
	return p.save()
}

func (p *Peers) put(place, address string, peer Peer) {
	if p.peers == nil {
		p.peers = map[string]Peer{}
	}
	p.peers[peerKey(place, address)] = peer
}

// meet pins a key that is new, and refuses one that is not the pinned.
func (p *Peers) meet(place, address string, met Peer, key *mmp.PublicKey, now time.Time) (Peer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	peer, known := p.peers[peerKey(place, address)]
	if known && len(met.Earlier) > 0 && slices.Contains(met.Earlier, peer.KeyID) {
		// Trust belongs to a key: the new one is known, and not trusted.
		peer.KeyID, peer.PublicKey, peer.Trusted, peer.EntryAt = key.KeyID(), "", false, time.Time{}
		peer.Earlier = append(peer.Earlier, met.Earlier...)
	}
	if known && peer.KeyID != key.KeyID() {
		if peer.Changed != key.KeyID() {
			peer.Changed = key.KeyID()
			p.put(place, address, peer)
			if err := p.save(); err != nil {
				return peer, err
			}
		}
		return peer, &KeyChange{Address: address, Pinned: peer.KeyID, Now: key.KeyID()}
	}
	if met.EntryAt.Before(peer.EntryAt) && !met.EntryAt.IsZero() {
		return peer, mmp.ErrOlderKey
	}
	if known && peer.PublicKey != "" && peer.Changed == "" && (peer.Envelope2 || !met.Envelope2) && met.LogIndex <= peer.LogIndex && met.EntryAt.Equal(peer.EntryAt) {
		return peer, nil
	}
	peer.LogIndex = max(peer.LogIndex, met.LogIndex)
	if !met.EntryAt.IsZero() {
		peer.EntryAt = met.EntryAt
	}
	if !known {
		peer.FirstSeen = now.UTC()
	}
	peer.KeyID, peer.PublicKey, peer.Changed = key.KeyID(), key.PEM(), ""
	peer.Envelope2 = peer.Envelope2 || met.Envelope2
	p.put(place, address, peer)
	return peer, p.save()
}

// replayed notes a signed message and tells whether it must not be taken: another
// relayed one was it, or it is done with. done says which.
func (p *Peers) replayed(key mmp.ReplayKey, relay string, now time.Time) (again, done bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seen == nil {
		p.seen = map[mmp.ReplayKey]seen{}
	}
	if s, ok := p.seen[key]; ok && now.Sub(s.At) <= remember {
		same := s.Relay == relay
		return s.Done || !same, s.Done && same
	}
	p.seen[key] = seen{Relay: relay, At: now.UTC()}
	for k, s := range p.seen {
		if now.Sub(s.At) > remember {
			delete(p.seen, k)
		}
	}
	return false, false
}

// finish notes that messages are done with, on disk before the place hears of it:
// whatever the place then does, they are not taken again.
func (p *Peers) finish(relays ...string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	changed := false
	for k, s := range p.seen {
		if !s.Done && slices.Contains(relays, s.Relay) {
			s.Done, changed = true, true
			p.seen[k] = s
		}
	}
	if !changed {
		return nil
	}
	return p.save()
}

// Save writes what was seen; pins are written at once.
func (p *Peers) Save() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.save()
}

func (p *Peers) save() error {
	if p.path == "" {
		return nil
	}
	f := peersFile{Peers: p.peers, Seen: map[string]seen{}, Logs: p.logs, Told: p.told}
	for k, s := range p.seen {
		f.Seen[k.FromKey+" "+k.ID] = s
	}
	text, err := json.MarshalIndent(f, "", " ")
	if err != nil {
		return err
	}
	return writeFile(p.path, append(text, '\n'), 0o600)
}
