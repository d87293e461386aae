package hub

import (
	"context"
	"io"
	"net/http"
	"os"
	"slices"
	"time"

	"parley.internal/client/mmpagent"
	"parley.internal/internal/brain/skillfile"
	"parley.internal/internal/face/api"
	"parley.internal/internal/face/front"
	"parley.internal/internal/identity"
	"parley.internal/internal/place/hosts"
	"parley.internal/internal/skill"
	"parley.internal/protocol/mmp"
)

// visitErrors is what clients see of a place that is not the one it was.
var visitErrors = []front.Mapping{{Is: skill.ErrPlaceChanged, Status: http.StatusConflict, Code: "place_key_changed"}}

// skillPart is what agents of this hub do at meeting places, and what they bring
// home.
func (h *Hub) skillPart() part {
	return part{
		name: "skill", open: h.openSkills, faces: h.openHosts, listen: h.startHosts,
		routes: func(_ *front.Routes, rest *api.API) error {
			api.RegisterSkills(rest, h.skills, h.hosts)
			return nil
		},
		count: func(ctx context.Context, who identity.Actor, counts map[string]int64) error {
			waiting, err := h.skills.As(who).List(ctx, skill.StateQuarantined, 1000)
			counts["skills_waiting"] = int64(len(waiting))
			return err
		},
		drain: func(context.Context) error {
			h.hosts.Stop()
			return nil
		},
	}
}

func (h *Hub) openSkills(ctx context.Context) error {
	s, err := skill.New(skill.Deps{
		DB: h.db, Inbox: h.inbox, Trust: h.place, Trail: h.trail, Log: h.logger, Own: h.ownSkills, Host: h.skillHost,
		Agents: h.agentNames, AgentsOf: h.agentsOf, PersonOf: h.agentPerson, Deliver: h.deliverNote, Allow: h.speaking(ctx).Allow,
		Owner: func(ctx context.Context) (string, error) {
			owner, err := h.people.Owner(ctx)
			return owner.ID, err
		},
	}, skill.Config{
		Dir: h.folder.Path("skills/received"), Extensions: h.folder.Path("extensions"), Front: h.conf.Place.FrontAgent, Hashes: mmp.HashForm(h.conf.Place.HashForm), Version: h.opts.Version,
		AllowFormats: h.conf.Skills.AllowFormats, L2Offers: h.conf.Skills.L2Offers, AllowUnprefixed: h.conf.Extensions.AllowUnprefixed,
	})
	if err != nil {
		return err
	}
	h.skills = s
	h.minds.shelf.Lend(h.receivedSkills)
	h.minds.offer("place", skill.HostedTools(s)...)
	h.onClose(s.Close)
	return nil
}

// openHosts lets the agents of this hub answer at the direct endpoints.
func (h *Hub) openHosts(context.Context) error {
	h.hosts = hosts.New(hosts.Deps{
		Skills: h.skills, Leases: h.leases, Bus: h.bus, Log: h.logger, PlaceID: h.place.PlaceID(), Files: h.minds.agents,
		Host: h.skillHost, Keys: h.placeKeys, PeersPath: func(agent string) string { return h.placeKeyPath(agent) + ".peers.json" },
		Home: mmpagent.Options{Version: h.opts.Version, HTTP: &http.Client{Transport: h.placeTransport()}, NoSocket: true},
		Away: mmpagent.Options{Version: h.opts.Version, HTTP: h.outside}, PublicURL: h.conf.PublicURL, Front: h.conf.Place.FrontAgent,
	})
	h.onClose(h.hosts.Close)
	if !h.opts.Quiet {
		h.placeFace.SetMeeting(h.skills)
	}
	return nil
}

// startHosts registers them at this hub's own place, in the background: making
// keys takes a while.
func (h *Hub) startHosts(ctx context.Context) error {
	if h.opts.Quiet {
		return nil
	}
	if err := h.skills.Start(ctx); err != nil {
		return err
	}
	h.hosts.Start()
	return nil
}

// skillHost finds an agent that meets others, with its keys.
func (h *Hub) skillHost(name string) (skill.Host, error) {
	a, err := h.minds.agents.Get(name)
	if err != nil || !a.Place {
		return skill.Host{}, mmp.ErrAgentNotFound
	}
	keys, err := h.placeKeys(name)
	return skill.Host{Name: name, ID: keys.ID(), Description: a.Description, Ring: keys.Ring}, err
}

// agentNames are all agents of this hub that can be used.
func (h *Hub) agentNames() []string {
	var out []string
	for _, e := range h.minds.agents.List() {
		if e.Agent != nil {
			out = append(out, e.Name)
		}
	}
	return out
}

// ownSkills are the skills of the folder that an agent lists.
func (h *Hub) ownSkills(agent string) []skill.Own {
	a, err := h.minds.agents.Get(agent)
	if err != nil {
		return nil
	}
	all, err := h.minds.shelf.Skills()
	if err != nil {
		h.logger.Warn("reading skills", "error", err)
	}
	root, err := os.OpenRoot(h.folder.Path("skills"))
	if err != nil {
		return nil // no folder, no skills
	}
	defer func() { _ = root.Close() }()
	var out []skill.Own
	for _, s := range all {
		if !s.Enabled || s.Err != nil || !(slices.Contains(a.Skills, s.Name) || slices.Contains(a.Skills, "*")) {
			continue
		}
		own := skill.Own{ID: s.Name, Name: s.Name, Summary: s.Description, Tags: s.Tags, Public: s.Public}
		if s.Public {
			own.Content = readSkill(root, s.File)
		}
		out = append(out, own)
	}
	return out
}

func readSkill(root *os.Root, file string) string {
	f, err := root.Open(file)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, mmp.MaxSkill+1))
	if err != nil {
		return ""
	}
	return string(text)
}

// receivedSkills are what other agents sent and a person approved.
func (h *Hub) receivedSkills() []skillfile.Skill {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	items, err := h.skills.Usable(ctx)
	if err != nil {
		h.logger.Warn("reading received skills", "error", err)
	}
	var out []skillfile.Skill
	for _, i := range items {
		s, err := skillfile.Parse("received", []byte(i.Content))
		if err != nil {
			s = skillfile.Skill{Body: i.Content} // a head we cannot read is text like the rest
		}
		s.Name, s.Public, s.AllowedTools, s.Agents = i.Name, false, nil, i.Named()
		if s.Description == "" {
			s.Description = i.Title
		}
		out = append(out, s)
	}
	return out
}
