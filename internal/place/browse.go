package place

import (
	"context"
	"database/sql"
	"math/rand/v2"
	"slices"

	"parley.internal/internal/store"
	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/board"
)

// entry is one line of the mixed view.
type entry struct {
	kind, agent, format, text string
	tags                      []string
	value                     any
}

// needEntry is a need in the mixed view.
type needEntry struct {
	Type        string   `json:"type"`
	AgentID     string   `json:"agent_id"`
	AgentName   *string  `json:"agent_name"`
	AgentMode   *string  `json:"agent_mode"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	PublishedAt mmp.Time `json:"published_at"`
}

// agentEntry is an agent in the mixed view.
type agentEntry struct {
	Type    string `json:"type"`
	AgentID string `json:"agent_id"`
	board.Agent
}

// pool bounds what the mixed view draws from.
const pool = 2_000

// Browse gives two views of one board: postings newest first, and a shuffled
// mixture of everything that matches.
func (p *Place) Browse(ctx context.Context, who Visitor, q board.BrowseQuery) (board.BrowseAnswer, error) {
	out := board.BrowseAnswer{Postings: []board.Posting{}, Entries: []any{}, Sampling: "random"}
	if err := p.admit(who); err != nil {
		return out, err
	}
	if clean("agent_id", q.AgentID) != nil {
		return out, mmp.InvalidParam("agent_id")
	}
	var all []entry
	err := p.read(ctx, func(tx *store.Tx) (err error) {
		if out.Postings, err = p.postings(tx, q); err != nil {
			return err
		}
		all, err = p.entries(tx, who, q)
		return err
	})
	if err != nil {
		return out, err
	}
	out.Count = len(out.Postings)
	out.TotalAvailable = len(all)
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	agents := map[string]bool{}
	for _, e := range all[:min(len(all), q.Limit)] {
		out.Entries = append(out.Entries, e.value)
		agents[e.agent] = true
	}
	out.Returned, out.AgentsContributing = len(out.Entries), len(agents)
	out.PlaceTrust = mmp.Raw(`{"auth":"` + string(p.c.Auth) + `","verified_by_place":false}`)
	return out, nil
}

// entries gathers the mixed view.
func (p *Place) entries(tx *store.Tx, who Visitor, q board.BrowseQuery) ([]entry, error) {
	var all []entry
	add := func(e entry) {
		if e.matches(q) && len(all) < pool {
			all = append(all, e)
		}
	}
	wide := q
	wide.Limit = 500
	posted, err := p.postings(tx, wide)
	if err != nil {
		return nil, err
	}
	for _, one := range posted {
		add(entry{kind: one.Type, agent: one.AgentID, format: one.SkillFormat, text: text(one.SkillName) + "\n" + text(one.SkillSummary), tags: one.Tags, value: one})
	}
	err = p.eachAgent(tx, func(a *agentRow) bool {
		add(entry{kind: board.EntryAgent, agent: a.id, text: a.name + "\n" + a.description, value: agentEntry{board.EntryAgent, a.id, p.show(who, a)}})
		return len(all) < pool
	})
	if err != nil {
		return nil, err
	}
	err = p.eachRemote(tx, func(a board.Agent) bool {
		add(entry{kind: board.EntryAgent, agent: a.ID, text: a.Name + "\n" + a.Description, value: agentEntry{board.EntryAgent, a.ID, a}})
		return len(all) < pool
	})
	if err != nil {
		return nil, err
	}
	if err := p.eachNeed(tx, add); err != nil {
		return nil, err
	}
	return all, p.eachDeposit(tx, func(d board.Deposit) {
		add(entry{kind: board.EntryDeposit, agent: d.AgentID, format: d.Format, text: d.Name + "\n" + d.Description + "\n" + text(d.Summary), tags: d.Tags, value: d})
	})
}

func (e entry) matches(q board.BrowseQuery) bool {
	switch {
	case q.Type != "" && e.kind != q.Type, q.AgentID != "" && e.agent != q.AgentID, q.SkillFormat != "" && e.format != q.SkillFormat:
		return false
	case len(q.Tags) > 0 && !slices.ContainsFunc(q.Tags, func(t string) bool { return slices.Contains(e.tags, t) }):
		return false
	}
	return q.Search == "" || contains(e.text, q.Search)
}

func (p *Place) eachNeed(tx *store.Tx, add func(entry)) error {
	return tx.Each(func(r *sql.Rows) error {
		var agent, name, mode, encoded string
		var created int64
		if err := r.Scan(&agent, &name, &mode, &encoded, &created); err != nil {
			return err
		}
		var needs []board.Need
		if err := mmp.Decode([]byte(encoded), &needs); err != nil {
			return err
		}
		for _, n := range needs {
			add(entry{kind: board.EntryNeed, agent: agent, text: n.Name + "\n" + n.Description, value: needEntry{
				Type: board.EntryNeed, AgentID: agent, AgentName: optional(name), AgentMode: optional(mode), Name: n.Name, Description: n.Description,
				PublishedAt: mmp.At(store.Time(created)),
			}})
		}
		return nil
	}, `SELECT agent, agent_name, agent_mode, needs, created_at FROM place_needs WHERE expires_at > ? ORDER BY created_at DESC LIMIT 500`, store.Micros(p.now()))
}
