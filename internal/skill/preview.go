package skill

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html"
	"strings"
	"unicode"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"

	"parley/internal/store"
)

// Review is a skill as a person should look at it.
type Review struct {
	Item
	// Preview is how the text reads, Source what is really in it; in both, what
	// cannot be seen is made visible. Neither is ever markup.
	Preview string
	Source  string
	// Diff is against the version in use, which InUse names; empty for a new one.
	Diff  string
	InUse string
	// MayUse are the agents an approval may name.
	MayUse []string
}

// Review shows a skill.
func (s *Skills) Review(ctx context.Context, id string) (Review, error) {
	var r Review
	err := s.d.DB.Read(ctx, func(tx *store.Tx) error {
		item, err := scanItem(tx.QueryRow(`SELECT `+itemRow+` FROM skill_items WHERE id = ?`, id))
		if err != nil {
			return err
		}
		r = Review{Item: item, Source: Visible(item.Content), Preview: Plain(item.Content), MayUse: s.d.Agents()}
		old, err := inUse(tx, item)
		if errors.Is(err, ErrNotFound) || err == nil && old.ID == item.ID {
			return nil
		}
		r.InUse, r.Diff = old.ID, Diff(Visible(old.Content), r.Source)
		return err
	})
	return r, err
}

// Plain is how a Markdown text reads, without any markup: rendered, stripped of
// every tag, and unescaped again into plain text.
func Plain(markdown string) string {
	var out bytes.Buffer
	if err := goldmark.Convert([]byte(markdown), &out); err != nil {
		return Visible(markdown)
	}
	text := html.UnescapeString(bluemonday.StrictPolicy().Sanitize(out.String()))
	return Visible(strings.TrimSpace(text))
}

// Visible shows characters that hide: controls, zero-width, direction marks and
// everything else that is drawn as nothing.
func Visible(text string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(text, "\uFFFD") {
		switch {
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case r == '\r':
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Co, r) || hidden(r):
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// hidden are characters of other classes that are drawn as nothing: fillers,
// variation selectors, line separators.
func hidden(r rune) bool {
	switch {
	case r == 0x115F, r == 0x1160, r == 0x3164, r == 0xFFA0, r == 0x034F, r == 0x2028, r == 0x2029, r == 0x2800:
		return true
	case r >= 0xFE00 && r <= 0xFE0F, r >= 0xE0000 && r <= 0xE0FFF:
		return true
	}
	return false
}
