package skill

import (
	"slices"
	"strings"

	"parley.internal/internal/fit"
	"parley.internal/internal/store"
	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/meeting"
)

func (o Own) hash() mmp.Hash { return mmp.HashOf(o.Content) }

func (o Own) info(form mmp.HashForm) meeting.SkillInfo {
	return meeting.SkillInfo{
		ID: o.ID, Name: o.Name, Layer: "L1", Format: meeting.FormatMarkdown, Public: true, Summary: fit.Clip(o.Summary, mmp.MaxSummary),
		Tags: append([]string{}, o.Tags...), ContentHash: form.Of(o.hash()),
	}
}

// public lists what may leave: public files, and received skills a person
// published. A store in trouble only shortens the list.
func (s *Skills) public(tx *store.Tx, h Host) []Own {
	var out []Own
	for _, o := range s.d.Own(h.Name) {
		if o.Public && meeting.ValidSkillID(o.ID) && o.Content != "" && len(o.Content) <= mmp.MaxSkill {
			out = append(out, o)
		}
	}
	items, err := listItems(tx, `WHERE me = ? AND state = 'approved' AND public = 1 ORDER BY name`, h.ID)
	if err != nil {
		s.d.Log.Warn("skills: listing what is public", "error", err)
	}
	for _, i := range items {
		if !slices.ContainsFunc(out, func(o Own) bool { return o.ID == i.Name }) {
			out = append(out, Own{ID: i.Name, Name: i.Title, Public: true, Content: i.Content, Summary: i.Summary, Tags: i.Tags, Provenance: &i.Provenance})
		}
	}
	return out
}

// find takes a public skill by id or name. What exists but is not public is told
// from what does not exist only to our own people.
func (s *Skills) find(tx *store.Tx, h Host, ref string) (Own, error) {
	for _, o := range s.public(tx, h) {
		if o.ID == ref || strings.EqualFold(o.Name, ref) {
			return o, nil
		}
	}
	for _, o := range s.d.Own(h.Name) {
		if o.ID == ref || strings.EqualFold(o.Name, ref) {
			return Own{}, ErrNotPublic
		}
	}
	return Own{}, ErrNotFound
}

// matching finds what a request may mean: the id or name exactly, else words.
func matching(all []Own, p meeting.RequestSkillPayload) []Own {
	var exact, loose []Own
	words := strings.Fields(strings.ToLower(p.SkillName + " " + p.Description))
	for _, o := range all {
		if p.SkillID != "" && o.ID == p.SkillID || p.SkillName != "" && (strings.EqualFold(o.Name, p.SkillName) || o.ID == p.SkillName) {
			exact = append(exact, o)
			continue
		}
		text := strings.ToLower(o.ID + " " + o.Name + " " + o.Summary + " " + strings.Join(o.Tags, " "))
		hit := slices.ContainsFunc(words, func(w string) bool { return len(w) > 2 && strings.Contains(text, w) }) ||
			slices.ContainsFunc(p.Tags, func(tag string) bool { return slices.Contains(o.Tags, tag) })
		if hit && p.SkillID == "" {
			loose = append(loose, o)
		}
	}
	if len(exact) > 0 {
		return exact
	}
	return loose
}
