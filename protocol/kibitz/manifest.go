package kibitz

import (
	"crypto/sha256"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/text/unicode/norm"
)

// The modes of a manifest.
const (
	ManifestInvite = "invite"
	ManifestGoogle = "google"
	ManifestNames  = "names"
)

// Manifest is a room's membership, signed by its creator.
type Manifest struct {
	Members   []string     `json:"members"`
	MH        []string     `json:"mh,omitzero"`
	Domains   []string     `json:"domains,omitzero"`
	Mode      string       `json:"mode"`
	Room      string       `json:"room"`
	Exp       float64      `json:"exp"`
	Invitees  Raw          `json:"invitees,omitzero"`
	AgentKeys []AllowedKey `json:"agentKeys,omitzero"`
	Ver       float64      `json:"ver,omitzero"`
}

// VerifyManifest reads a manifest of the creator's key. An empty mode expects
// none. The error is a [*Refusal] with policy.bad.
func VerifyManifest(token, room, mode string, key *PublicKey, now time.Time) (*Manifest, error) {
	bad := func(reason string) (*Manifest, error) { return nil, refuse(PolicyBad, reason) }
	o, ok := openToken(key, token)
	switch {
	case !ok:
		return bad(reasonBadSignature)
	case !o.is("room", room):
		return bad(reasonWrongRoom)
	case mode != "" && !o.is("mode", mode):
		return bad("wrong mode")
	case o.past(now):
		return bad(reasonExpired)
	}
	m, err := readManifest(o)
	if err != nil {
		return bad("malformed manifest")
	}
	if len(m.Members)+len(m.MH)+len(m.AgentKeys) == 0 {
		return bad("no members")
	}
	return m, nil
}

// readManifest reads the members one by one, because the claims are apart.
func readManifest(o object) (*Manifest, error) {
	m := &Manifest{Invitees: o["invitees"].Clone()}
	m.Mode, _ = o.text("mode")
	m.Room, _ = o.text("room")
	m.Exp, _ = o.number("exp")
	m.Ver, _ = o.number("ver")
	for key, into := range map[string]any{"members": &m.Members, "mh": &m.MH, "domains": &m.Domains, "agentKeys": &m.AgentKeys} {
		if !o.has(key) {
			continue
		}
		if err := json.Unmarshal(o[key], into, lenientText); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// HumansMode is the mode of a policy that a manifest stands for.
func (m *Manifest) HumansMode() (string, bool) {
	switch m.Mode {
	case ManifestGoogle:
		return "oidc", true
	case ManifestInvite:
		return "invite", true
	case ManifestNames:
		return "hub", true
	}
	return "", false
}

// HasMember tells whether a verified email is listed, by itself or by its
// domain. A hashed list matches through the hashes only.
func (m *Manifest) HasMember(email string) bool {
	if len(m.MH) > 0 {
		return slices.Contains(m.MH, HashMember(email, m.Room))
	}
	email = normalEmail(email)
	if slices.ContainsFunc(m.Members, func(s string) bool { return normalEmail(s) == email }) {
		return true
	}
	at := strings.LastIndexByte(email, '@')
	return at >= 0 && slices.ContainsFunc(m.Domains, func(s string) bool { return normalEmail(s) == email[at+1:] })
}

// HashMember is a member's entry in a hashed list.
func HashMember(email, room string) string {
	sum := sha256.Sum256([]byte(normalEmail(email) + "|" + room))
	return encodeBase64(sum[:])
}

func normalEmail(s string) string { return lower(strings.TrimSpace(norm.NFKC.String(s))) }
