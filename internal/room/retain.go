package room

import (
	"slices"

	"parley.internal/internal/audit"
	"parley.internal/internal/store"
	"parley.internal/protocol/kibitz"
)

// Bounds of what a room keeps.
const (
	schemasEach = 25
	schemasRoom = 200
	// viewsLeft is how many views of publishers who have gone are kept.
	viewsLeft = 32
)

// keep is what a room has for those who come later: schemas, the last view of
// each publisher, and views meant for one.
type keep struct {
	schemas []keptSchema // oldest first
	views   []*item      // one per publisher, oldest first
	// directed has the views for one recipient, by recipient and publisher.
	directed map[string]map[string]*item
}

type keptSchema struct {
	name string
	*item
}

func (k *keep) init() { k.directed = map[string]map[string]*item{} }

// schemaFits tells whether a publisher may have a schema of that name.
func (k *keep) schemaFits(from, name string) bool {
	n := 0
	for _, s := range k.schemas {
		if s.from == from {
			if s.name == name {
				return true
			}
			n++
		}
	}
	return n < schemasEach
}

func (k *keep) schema(name string, it *item) {
	k.schemas = slices.DeleteFunc(k.schemas, func(s keptSchema) bool { return s.from == it.from && s.name == name })
	k.schemas = append(k.schemas, keptSchema{name, it})
	if len(k.schemas) > schemasRoom {
		k.schemas = slices.Delete(k.schemas, 0, 1)
	}
}

func (k *keep) view(it *item, present func(id string) bool) {
	if it.to != "" {
		if k.directed[it.to] == nil {
			k.directed[it.to] = map[string]*item{}
		}
		k.directed[it.to][it.from] = it
		return
	}
	k.views = slices.DeleteFunc(k.views, func(v *item) bool { return v.from == it.from })
	k.views = append(k.views, it)
	gone := 0
	for _, v := range slices.Backward(k.views) {
		if !present(v.from) {
			gone++
		}
	}
	for i := 0; gone > viewsLeft && i < len(k.views); {
		if present(k.views[i].from) {
			i++
			continue
		}
		k.views = slices.Delete(k.views, i, i+1)
		gone--
	}
}

// forget drops what was meant for somebody whose presence has ended.
func (k *keep) forget(id string) { delete(k.directed, id) }

// forJoiner is everything that might be for a participant: schemas, then views,
// each by number.
func (k *keep) forJoiner(id string) []*item {
	out := make([]*item, 0, len(k.schemas)+len(k.views))
	for _, s := range k.schemas {
		out = append(out, s.item)
	}
	slices.SortFunc(out, bySeq)
	views := slices.Clone(k.views)
	for _, v := range k.directed[id] {
		views = append(views, v)
	}
	slices.SortFunc(views, bySeq)
	return append(out, views...)
}

func bySeq(a, b *item) int {
	switch {
	case a.seq < b.seq:
		return -1
	case a.seq > b.seq:
		return 1
	}
	return 0
}

// retain keeps an accepted message if it is of a kind that is kept.
func (r *room) retain(p *participant, c *kibitz.Content, it *item) {
	switch {
	case c.Kind == kibitz.ContentSchema:
		r.kept.schema(c.SchemaName(), it)
		r.note(note{kind: audit.RoomSchema, actor: p.ID, id: p.ID, keyID: p.KeyID, detail: "published"})
	case c.IsView():
		r.kept.view(it, func(id string) bool { return r.byID[id] != nil })
	default:
		return
	}
	r.published(p)
}

// published remembers that the participant has something out which it must send
// again if this hub dies. A failure costs only that.
func (r *room) published(p *participant) {
	if p.Published {
		return
	}
	p.Published = true
	_ = r.write(func(tx *store.Tx) error { return r.save(tx, p) })
}
