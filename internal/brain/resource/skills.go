package resource

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"parley.internal/internal/brain/skillfile"
)

// Skill is a skill and whether agents may load it.
type Skill struct {
	skillfile.Skill
	Enabled bool
}

// Skills lists all of them by name as the folder has them now, broken and
// switched-off ones too: whoever writes a file and asks must not be told of the
// one before.
func (s *Shelf) Skills() ([]Skill, error) { return s.list(true) }

func (s *Shelf) list(again bool) ([]Skill, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, err := s.look(again)
	out := make([]Skill, len(all))
	for i, skill := range all {
		out[i] = Skill{Skill: skill, Enabled: !slices.Contains(s.state.SkillsOff, skill.Name)}
	}
	return out, err
}

// Usable lists what agents may load: skills without a mistake that are on. Every
// turn asks, so a look at the folder holds for a moment.
func (s *Shelf) Usable() []skillfile.Skill {
	all, err := s.list(false)
	if err != nil {
		s.o.Log.Warn("reading skills", "error", err)
	}
	var out []skillfile.Skill
	for _, skill := range all {
		if skill.Enabled && skill.Err == nil {
			out = append(out, skill.Skill)
		}
	}
	return s.lent(out)
}

// lent adds what other agents sent, as far as it is on.
func (s *Shelf) lent(out []skillfile.Skill) []skillfile.Skill {
	s.mu.Lock()
	more, off := s.more, s.state.SkillsOff
	s.mu.Unlock()
	if more == nil {
		return out
	}
	for _, skill := range more() {
		taken := slices.ContainsFunc(out, func(k skillfile.Skill) bool { return k.Name == skill.Name })
		if !taken && !slices.Contains(off, skill.Name) {
			out = append(out, skill)
		}
	}
	return out
}

// EnableSkill switches a skill on or off.
func (s *Shelf) EnableSkill(name string, on bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, err := s.look(true)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(all, func(k skillfile.Skill) bool { return k.Name == name }) {
		return fmt.Errorf("%w: %q", ErrNoSkill, name)
	}
	next := s.state
	next.SkillsOff = switched(next.SkillsOff, name, on)
	return s.commit(next)
}

// look gives the skills of the folder, from memory if the last look is fresh.
// The lock is held.
func (s *Shelf) look(again bool) ([]skillfile.Skill, error) {
	if !again && time.Since(s.looked) < fresh {
		return s.skills, nil
	}
	all, err := skillfile.Load(filepath.Join(s.o.Dir, skillsName))
	if err != nil {
		return s.skills, err
	}
	s.skills, s.looked = all, time.Now()
	return all, nil
}
