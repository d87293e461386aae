package bus

import (
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// shardCount keeps publishers of different subjects off each other's locks.
const shardCount = 64

// exchange finds the subscriptions of a subject. Almost all of them name one subject exactly and are found by
// one map look-up in a shard; the few with wildcards live in a tree of tokens.
//
// Lock order: a shard's lock, the tree's, a mailbox's. No handler runs under any of them.
type exchange struct {
	seed   maphash.Seed
	shards [shardCount]shard

	wildMu    sync.RWMutex
	wild      node
	wildCount atomic.Int64 // spares publishers the tree while nobody uses a wildcard
}

type shard struct {
	mu   sync.RWMutex
	subs map[string]*receivers
}

// receivers are the subscriptions at one subject or one place of the tree.
type receivers struct {
	each   []*localSub
	groups []*group
}

type group struct {
	queue   string
	members []*localSub
	next    atomic.Uint32
}

func newExchange() *exchange { return &exchange{seed: maphash.MakeSeed()} }

func (x *exchange) shard(subject string) *shard {
	return &x.shards[maphash.String(x.seed, subject)%shardCount]
}

func (x *exchange) add(s *localSub) {
	if hasWildcard(s.subject) {
		x.wildMu.Lock()
		defer x.wildMu.Unlock()
		x.wild.at(s.subject).add(s)
		x.wildCount.Add(1)
		return
	}
	sh := x.shard(s.subject)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.subs == nil {
		sh.subs = make(map[string]*receivers)
	}
	r := sh.subs[s.subject]
	if r == nil {
		r = new(receivers)
		sh.subs[s.subject] = r
	}
	r.add(s)
}

// remove is idempotent.
func (x *exchange) remove(s *localSub) {
	if hasWildcard(s.subject) {
		x.wildMu.Lock()
		defer x.wildMu.Unlock()
		if x.wild.remove(s.subject, s) {
			x.wildCount.Add(-1)
		}
		return
	}
	sh := x.shard(s.subject)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if r := sh.subs[s.subject]; r != nil && r.remove(s) && r.empty() {
		delete(sh.subs, s.subject)
	}
}

// deliver returns how many subscriptions took the message.
func (x *exchange) deliver(m Msg) int {
	sh := x.shard(m.Subject)
	sh.mu.RLock()
	defer sh.mu.RUnlock()
	exact := sh.subs[m.Subject]
	if x.wildCount.Load() == 0 {
		if exact == nil {
			return 0
		}
		return deliver(m, exact)
	}
	x.wildMu.RLock()
	defer x.wildMu.RUnlock()
	found := make([]*receivers, 0, 8)
	if exact != nil {
		found = append(found, exact)
	}
	x.wild.match(m.Subject, func(r *receivers) { found = append(found, r) })
	return deliver(m, found...)
}

func deliver(m Msg, found ...*receivers) int {
	n := 0
	for i, r := range found {
		for _, s := range r.each {
			if s.push(m) {
				n++
			}
		}
		for _, g := range r.groups {
			if !named(found[:i], g.queue) && g.deliver(m, found[i+1:]) {
				n++
			}
		}
	}
	return n
}

// named reports whether an earlier pattern has a group of that name: then it has had its turn.
func named(found []*receivers, queue string) bool {
	return slices.ContainsFunc(found, func(r *receivers) bool { return r.group(queue) != nil })
}

// deliver gives the message to one member of the group, in turn; to another if that one is just closing.
// Members under other matching patterns belong to the same group.
func (g *group) deliver(m Msg, others []*receivers) bool {
	members := g.members
	for _, r := range others {
		if o := r.group(g.queue); o != nil {
			members = slices.Concat(members, o.members)
		}
	}
	first := int(g.next.Add(1))
	for i := range members {
		if members[(first+i)%len(members)].push(m) {
			return true
		}
	}
	return false
}

func (r *receivers) group(queue string) *group {
	for _, g := range r.groups {
		if g.queue == queue {
			return g
		}
	}
	return nil
}

func (r *receivers) add(s *localSub) {
	if s.queue == "" {
		r.each = append(r.each, s)
		return
	}
	g := r.group(s.queue)
	if g == nil {
		g = &group{queue: s.queue}
		r.groups = append(r.groups, g)
	}
	g.members = append(g.members, s)
}

func (r *receivers) remove(s *localSub) bool {
	if s.queue == "" {
		return cut(&r.each, s)
	}
	for i, g := range r.groups {
		if g.queue == s.queue && cut(&g.members, s) {
			if len(g.members) == 0 {
				r.groups = slices.Delete(r.groups, i, i+1)
			}
			return true
		}
	}
	return false
}

func (r *receivers) empty() bool { return len(r.each) == 0 && len(r.groups) == 0 }

func cut(list *[]*localSub, s *localSub) bool {
	i := slices.Index(*list, s)
	if i < 0 {
		return false
	}
	*list = slices.Delete(*list, i, i+1)
	return true
}

// node is one token of the wildcard patterns.
type node struct {
	children  map[string]*node
	receivers receivers
}

func (n *node) at(pattern string) *receivers {
	for tok := range strings.SplitSeq(pattern, ".") {
		child := n.children[tok]
		if child == nil {
			child = new(node)
			if n.children == nil {
				n.children = make(map[string]*node)
			}
			n.children[tok] = child
		}
		n = child
	}
	return &n.receivers
}

// remove prunes branches that became empty.
func (n *node) remove(pattern string, s *localSub) bool {
	tok, rest, more := strings.Cut(pattern, ".")
	child := n.children[tok]
	if child == nil {
		return false
	}
	removed := false
	if more {
		removed = child.remove(rest, s)
	} else {
		removed = child.receivers.remove(s)
	}
	if child.receivers.empty() && len(child.children) == 0 {
		delete(n.children, tok)
	}
	return removed
}

func (n *node) match(subject string, found func(*receivers)) {
	if tail := n.children[">"]; tail != nil {
		found(&tail.receivers)
	}
	tok, rest, more := strings.Cut(subject, ".")
	for _, child := range [2]*node{n.children[tok], n.children["*"]} {
		switch {
		case child == nil:
		case more:
			child.match(rest, found)
		default:
			found(&child.receivers)
		}
	}
}
