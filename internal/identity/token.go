package identity

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/ids"
	"parley.internal/internal/store"
)

// TokenKind tells the sorts of credentials apart.
type TokenKind string

// The kinds of credentials. A page is a logged-in browser; the others are tokens.
const (
	TokenOperator TokenKind = "operator"
	TokenNode     TokenKind = "node"
	TokenPairing  TokenKind = "pairing"
	TokenDevice   TokenKind = "device"
	ViaPage       TokenKind = "page"
)

// How long credentials live unless somebody says otherwise.
const (
	TokenLife   = 90 * 24 * time.Hour
	DeviceLife  = 30 * 24 * time.Hour
	PairingLife = 15 * time.Minute
	LinkLife    = 15 * time.Minute
	// RotationGrace is how long the old secret of a rotated token still works.
	RotationGrace = 5 * time.Minute
)

// Token is a credential's record; it has no secret in it.
type Token struct {
	ID        string        `json:"id"`
	Kind      TokenKind     `json:"kind"`
	Role      Role          `json:"role"`
	Name      string        `json:"name"`
	Principal Principal     `json:"principal"`
	Device    string        `json:"device_id,omitempty"`
	Scopes    Scopes        `json:"scopes"`
	Created   time.Time     `json:"created_at"`
	Expires   time.Time     `json:"expires_at,omitzero"`
	LastUsed  time.Time     `json:"last_used_at,omitzero"`
	Used      time.Time     `json:"used_at,omitzero"`
	Revoked   time.Time     `json:"revoked_at,omitzero"`
	TTL       time.Duration `json:"-"`

	owner bool
	maker maker
}

// Maker names what the token was made with, and ends with: "token:ID",
// "passkey:ID", or nothing for the hub itself.
func (t Token) Maker() string { return string(t.maker) }

// TokenRequest asks for a token.
type TokenRequest struct {
	Name string
	// Role defaults to operator.
	Role Role
	// Scopes are names as Expand takes them; nil means all the role may have.
	Scopes []string
	// TTL defaults to TokenLife; a pairing token never lives longer than PairingLife.
	TTL time.Duration
	// Principal is the person's name; empty means the caller. Another person
	// needs admin, and is created if new.
	Principal string
	// Pairing makes a token that the first device to pair uses up.
	Pairing bool
}

// Issued is a token with its secret, which nobody will see again.
type Issued struct {
	Token
	Secret string `json:"token"`
	// Code is a short form of a pairing token's secret, for typing: ABCD-EFGH.
	Code string `json:"code,omitempty"`
}

// CreateToken makes a token. It needs device:manage. Scopes and life are cut to
// the caller's, and it ends when the caller's credential does.
func (d *Directory) CreateToken(ctx context.Context, by Actor, req TokenRequest) (Issued, error) {
	if !by.Scopes.Has(DeviceManage) {
		return Issued{}, ErrForbidden
	}
	t, err := req.token()
	if err != nil {
		return Issued{}, err
	}
	var out Issued
	err = d.db.Write(ctx, func(tx *store.Tx) error {
		a, err := authorOf(tx, by)
		if err != nil {
			return err
		}
		p, err := personFor(tx, by, req.Principal)
		if err != nil {
			return err
		}
		t.Principal, t.owner = p.Principal(), p.Owner
		t.maker, t.Scopes, t.Expires = a.maker, a.give(req.Scopes, t.Role), earlier(t.Expires, a.end)
		if out, err = insertToken(tx, t); err != nil {
			return err
		}
		return d.record(tx, by, audit.TokenCreated, t.ID, tokenDetail(t))
	})
	return out, err
}

// token checks a request and makes the record of it.
func (req TokenRequest) token() (Token, error) {
	role := req.Role
	if role == "" {
		role = RoleOperator
	}
	if !role.Valid() {
		return Token{}, fmt.Errorf("%w: the role is operator or node", ErrInvalid)
	}
	if req.TTL != 0 && req.TTL < time.Second {
		return Token{}, fmt.Errorf("%w: a token lives at least one second", ErrInvalid)
	}
	if len(req.Name) > 200 || len(req.Scopes) > 200 {
		return Token{}, fmt.Errorf("%w: name or scopes too long", ErrInvalid)
	}
	kind, ttl := TokenKind(role), req.TTL
	if ttl == 0 {
		ttl = TokenLife
	}
	if req.Pairing {
		kind, ttl = TokenPairing, min(ttl, PairingLife)
	}
	now := time.Now()
	return Token{
		ID: ids.New(), Kind: kind, Role: role, Name: clean(req.Name),
		Created: now, TTL: ttl, Expires: now.Add(ttl),
	}, nil
}

// give cuts what was asked for to what the role may hold and the author may give;
// asking for nothing in particular asks for the role's default.
func (a author) give(names []string, role Role) Scopes {
	if role == RoleNode {
		return role.Default()
	}
	wanted := role.Default()
	if names != nil {
		wanted = role.cut(Expand(names...))
	}
	return wanted.Intersect(a.scopes)
}

// clean makes text safe for both databases and for a log line.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// personFor is whom a credential is for.
func personFor(tx *store.Tx, by Actor, name string) (Person, error) {
	if name == "" || name == by.Person.Name {
		return findPerson(tx, by.Person.ID)
	}
	if !by.Admin() {
		return Person{}, ErrForbidden
	}
	p, _, err := ensurePerson(tx, name)
	return p, err
}

// insertToken writes the record and a new secret.
func insertToken(tx *store.Tx, t Token) (Issued, error) {
	_, err := tx.Exec(`INSERT INTO tokens (id, kind, role, person, device, name, scopes, created_at, ttl, expires_at, maker)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, t.ID, string(t.Kind), string(t.Role), t.Principal.ID, t.Device, t.Name, t.Scopes.String(),
		store.Micros(t.Created), t.TTL.Microseconds(), store.Micros(t.Expires), string(t.maker))
	if err != nil {
		return Issued{}, err
	}
	out := Issued{Token: t, Secret: newSecret(tokenPrefix)}
	if err := insertSecret(tx, t.ID, out.Secret); err != nil {
		return Issued{}, err
	}
	if t.Kind == TokenPairing {
		out.Code = newCode()
		err = insertSecret(tx, t.ID, normalCode(out.Code))
	}
	return out, err
}

func insertSecret(tx *store.Tx, token, secret string) error {
	s := seal(secret)
	_, err := tx.Exec(`INSERT INTO token_secrets (lookup, salt, hash, token) VALUES (?, ?, ?, ?)`, s.lookup, s.salt, s.hash, token)
	return err
}

func tokenDetail(t Token) map[string]any {
	detail := map[string]any{"kind": string(t.Kind), "principal": t.Principal.String(), "scopes": t.Scopes.Sorted()}
	if t.Device != "" {
		detail["device"] = t.Device
	}
	if t.maker != byHub {
		detail["made_with"] = string(t.maker)
	}
	if !t.Expires.IsZero() {
		detail["expires_at"] = t.Expires.UTC().Format(time.RFC3339)
	}
	return detail
}

const (
	tokenColumns = `t.id, t.kind, t.role, t.name, t.device, t.scopes, t.created_at, t.ttl, t.expires_at,
		t.last_used_at, t.used_at, t.revoked_at, t.maker, p.id, p.name, p.owner`
	selectToken = `SELECT ` + tokenColumns + ` FROM tokens t JOIN people p ON p.id = t.person`
)

// scanToken reads a row of selectToken, and more columns after it into extra.
func scanToken(row store.Row, extra ...any) (Token, error) {
	var t Token
	var kind, role, scopes, made string
	var created, ttl, expires, lastUsed, used, revoked, owner int64
	dest := append([]any{
		&t.ID, &kind, &role, &t.Name, &t.Device, &scopes, &created, &ttl, &expires,
		&lastUsed, &used, &revoked, &made, &t.Principal.ID, &t.Principal.Name, &owner,
	}, extra...)
	if err := row.Scan(dest...); err != nil {
		return Token{}, notFound(err)
	}
	t.Kind, t.Role, t.Principal.Kind, t.owner = TokenKind(kind), Role(role), KindPerson, owner == 1
	t.Scopes, t.maker = parseScopes(scopes), maker(made)
	t.Created, t.Expires, t.LastUsed = store.Time(created), store.Time(expires), store.Time(lastUsed)
	t.Used, t.Revoked, t.TTL = store.Time(used), store.Time(revoked), time.Duration(ttl)*time.Microsecond
	return t, nil
}

func parseScopes(joined string) Scopes {
	if joined == "" {
		return Scopes{}
	}
	return Expand(strings.Split(joined, ",")...)
}

// Tokens lists the caller's tokens, newest first, or everybody's for an admin.
// Revoked ones stay in the list for 30 days.
func (d *Directory) Tokens(ctx context.Context, by Actor) ([]Token, error) {
	tokens := []Token{}
	query, args := selectToken+` WHERE (t.revoked_at = 0 OR t.revoked_at > ?)`, []any{store.Micros(time.Now().Add(-30 * 24 * time.Hour))}
	if !by.Admin() {
		query, args = query+` AND t.person = ?`, append(args, by.Person.ID)
	}
	err := d.db.Read(ctx, func(tx *store.Tx) error {
		tokens = tokens[:0]
		return tx.Each(func(row *sql.Rows) error {
			t, err := scanToken(row)
			tokens = append(tokens, t)
			return err
		}, query+` ORDER BY t.created_at DESC, t.id`, args...)
	})
	return tokens, err
}

// Token finds one token; somebody else's is ErrNotFound.
func (d *Directory) Token(ctx context.Context, by Actor, id string) (Token, error) {
	var t Token
	err := d.db.Read(ctx, func(tx *store.Tx) (err error) {
		t, err = ownToken(tx, by, id)
		return err
	})
	return t, err
}

func ownToken(tx *store.Tx, by Actor, id string) (Token, error) {
	t, err := scanToken(tx.QueryRow(selectToken+` WHERE t.id = ?`, id))
	if err == nil && !by.Owns(t.Principal.ID) {
		return Token{}, ErrNotFound
	}
	return t, err
}
