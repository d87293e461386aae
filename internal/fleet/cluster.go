package fleet

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"parley.internal/internal/bus"
	"parley.internal/internal/store"
)

// cluster is how the fleets of several hubs know the same: news goes out on
// fleet.news. Alone it does nothing.
type cluster struct {
	f *Fleet

	sub  bus.Subscription
	mu   sync.Mutex
	seen int64 // changed_at up to which rows were read
}

// news is what hubs tell each other; it only says where to look.
type news struct {
	Hub     string `json:"hub"`
	Machine string `json:"machine,omitempty"`
	Queued  string `json:"queued,omitempty"`
	Rules   int64  `json:"rules,omitempty"`
	Cancel  string `json:"cancel,omitempty"`
}

const newsSubject = "fleet.news"

func (c *cluster) alone() bool { return c.f.d.Alone }

func (c *cluster) listen() (err error) {
	if c.alone() {
		return nil
	}
	c.seen = store.Micros(time.Now())
	c.sub, err = c.f.d.Bus.Subscribe(newsSubject, c.heard)
	return err
}

func (c *cluster) close() {
	if c.sub != nil {
		c.sub.Close()
	}
}

// publish tells the other hubs. Losing it costs time only: they also look.
func (c *cluster) publish(n news) {
	if c.alone() {
		return
	}
	n.Hub = c.f.hub
	if err := c.f.d.Bus.Publish(newsSubject, []byte(text(n))); err != nil && !errors.Is(err, bus.ErrClosed) {
		c.f.d.Log.Debug("other hubs are not told", "error", err)
	}
}

func (c *cluster) heard(m bus.Msg) {
	var n news
	if json.Unmarshal(m.Data, &n) != nil || n.Hub == c.f.hub {
		return
	}
	ctx, cancel := context.WithTimeout(c.f.ctx, writeTime)
	defer cancel()
	switch {
	case n.Machine != "":
		c.f.report("a changed machine cannot be read", c.f.reload(ctx, n.Machine))
	case n.Rules > c.f.rules.Load().revision:
		c.f.report("changed rules cannot be read", c.f.loadRules(ctx))
	case n.Queued != "":
		if m := c.f.find(n.Queued); m != nil && m.current() != nil {
			c.f.startDelivery(m.current())
		}
	case n.Cancel != "":
		if fl := c.f.underWay(n.Cancel); fl != nil {
			fl.cancel()
		}
	}
}

// catchUp reads what changed since the last look, in case the bus lost the news.
func (c *cluster) catchUp(ctx context.Context) error {
	const overlap = 5 * time.Second
	c.mu.Lock()
	from := c.seen - overlap.Microseconds()
	c.mu.Unlock()
	var all map[string]*record
	var revision int64
	err := c.f.d.DB.Read(ctx, func(tx *store.Tx) (err error) {
		if all, err = readRecords(tx, `changed_at > ?`, from); err != nil {
			return err
		}
		err = tx.QueryRow(`SELECT value FROM fleet_counters WHERE name = 'rules'`).Scan(&revision)
		if errors.Is(err, sql.ErrNoRows) {
			err = nil
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, r := range all {
		c.mu.Lock()
		c.seen = max(c.seen, r.changed)
		c.mu.Unlock()
		if m := c.f.find(r.id); m == nil && r.removed || m != nil && m.record().changed == r.changed {
			continue
		}
		c.f.apply(*r)
	}
	if revision > c.f.rules.Load().revision {
		return c.f.loadRules(ctx)
	}
	return nil
}
