package identity

import (
	"context"
	"crypto/subtle"
	"database/sql"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/fit"
	"parley.internal/internal/ids"
	"parley.internal/internal/store"
)

// Page is a logged-in browser.
type Page struct {
	ID        string    `json:"id"`
	Principal Principal `json:"principal"`
	// Agent is what the browser calls itself, for the list of devices.
	Agent    string    `json:"agent"`
	Scopes   Scopes    `json:"scopes"`
	Created  time.Time `json:"created_at"`
	Expires  time.Time `json:"expires_at"`
	LastUsed time.Time `json:"last_used_at"`
}

// Login is a page just logged in. Cookie goes into an HttpOnly cookie; CSRF is
// handed to the page, which sends it back with every change.
type Login struct {
	Page   Page
	Actor  Actor
	Cookie string
	CSRF   string
}

// CookieForm reports whether s has the form of a page's cookie.
func CookieForm(s string) bool { return wellFormed(s, cookiePrefix) }

// CSRF is the token that belongs to a cookie.
func CSRF(cookie string) string { return csrfOf(cookie) }

// CheckCSRF compares in constant time.
func CheckCSRF(cookie, token string) bool {
	return subtle.ConstantTimeCompare([]byte(csrfOf(cookie)), []byte(token)) == 1
}

// OpenPage logs a browser in for somebody whom a token proved. The page
// can do what the token can and ends with it.
func (d *Directory) OpenPage(ctx context.Context, by Actor, agent string) (Login, error) {
	if by.Credential == TokenPairing || by.Role != RoleOperator {
		return Login{}, ErrForbidden
	}
	var out Login
	err := d.db.Write(ctx, func(tx *store.Tx) error {
		a, err := authorOf(tx, by)
		if err != nil {
			return err
		}
		out, err = d.insertPage(tx, by, a.maker, agent, "token")
		return err
	})
	return out, err
}

// insertPage writes a page for the actor, which ends with m at the latest, and
// audits the login.
func (d *Directory) insertPage(tx *store.Tx, by Actor, m maker, agent, how string) (Login, error) {
	limit, err := endOf(tx, m)
	if err != nil {
		return Login{}, err
	}
	now := time.Now()
	end := earlier(now.Add(d.opts.PageLife), limit)
	out := Login{Cookie: newSecret(cookiePrefix)}
	out.CSRF = csrfOf(out.Cookie)
	out.Page = Page{ID: ids.New(), Principal: by.Person, Agent: fit.Clip(clean(agent), 200), Scopes: by.Scopes, Created: now, Expires: end, LastUsed: now}
	out.Actor = Actor{
		Person: by.Person, Owner: by.Owner, Role: RoleOperator, Scopes: by.Scopes, Expires: end,
		Via: Via{Credential: ViaPage, TokenID: by.TokenID, PageID: out.Page.ID, Name: out.Page.Agent, Where: AtPage, Address: by.Address},
	}
	if out.Actor.InPerson, err = inPerson(tx, m); err != nil {
		return Login{}, err
	}
	s := seal(out.Cookie)
	_, err = tx.Exec(`INSERT INTO page_sessions (id, lookup, salt, hash, person, token, scopes, agent, created_at, expires_at, last_used_at, maker)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, out.Page.ID, s.lookup, s.salt, s.hash, by.Person.ID, by.TokenID, by.Scopes.String(),
		out.Page.Agent, store.Micros(now), store.Micros(end), store.Micros(now), string(m))
	if err != nil {
		return Login{}, err
	}
	return out, d.record(tx, out.Actor, audit.PageOpened, out.Page.ID, map[string]any{"by": how})
}

// AuthenticatePage tells who is behind a cookie. A refusal is an *AuthError.
func (d *Directory) AuthenticatePage(ctx context.Context, cookie string) (Actor, error) {
	if !CookieForm(cookie) {
		return Actor{}, refused(Malformed, "")
	}
	return d.open(ctx, cookie, func(tx *store.Tx) (*credential, error) { return d.loadPage(tx, cookie) })
}

func (d *Directory) loadPage(tx *store.Tx, cookie string) (*credential, error) {
	k, m, err := d.findPage(tx, cookie)
	if err != nil {
		return nil, err
	}
	k.actor.InPerson, err = inPerson(tx, m)
	return k, err
}

func (d *Directory) findPage(tx *store.Tx, cookie string) (*credential, maker, error) {
	rows, err := tx.Query(`SELECT s.lookup, s.salt, s.hash, s.id, s.token, s.scopes, s.expires_at, s.last_used_at, s.revoked_at, s.maker, s.agent,
		p.id, p.name, p.owner FROM page_sessions s JOIN people p ON p.id = s.person WHERE s.lookup = ?`, lookupOf(cookie))
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		k := &credential{slide: d.opts.PageIdle, actor: Actor{Role: RoleOperator, Via: Via{Credential: ViaPage, Where: AtPage}}}
		var scopes, made string
		var expires, used, revoked, owner int64
		if err := rows.Scan(&k.sealed.lookup, &k.sealed.salt, &k.sealed.hash, &k.actor.PageID, &k.actor.TokenID, &scopes,
			&expires, &used, &revoked, &made, &k.actor.Name, &k.actor.Person.ID, &k.actor.Person.Name, &owner); err != nil {
			return nil, "", err
		}
		if !k.sealed.opens(cookie) {
			continue
		}
		k.actor.Person.Kind, k.actor.Owner, k.actor.Scopes = KindPerson, owner == 1, parseScopes(scopes)
		k.revoked, k.limit, k.expires = revoked != 0, store.Time(expires), store.Time(used).Add(d.opts.PageIdle)
		return k, maker(made), nil
	}
	if err := rows.Err(); err != nil {
		return nil, "", err
	}
	return nil, "", refused(Unknown, "")
}

// Pages lists the caller's logged-in browsers, or everybody's for an admin.
func (d *Directory) Pages(ctx context.Context, by Actor) ([]Page, error) {
	pages := []Page{}
	query := `SELECT s.id, s.agent, s.scopes, s.created_at, s.expires_at, s.last_used_at, p.id, p.name
		FROM page_sessions s JOIN people p ON p.id = s.person WHERE s.revoked_at = 0 AND s.expires_at > ? AND s.last_used_at > ?`
	now := time.Now()
	args := []any{store.Micros(now), store.Micros(now.Add(-d.opts.PageIdle))}
	if !by.Admin() {
		query, args = query+` AND s.person = ?`, append(args, by.Person.ID)
	}
	err := d.db.Read(ctx, func(tx *store.Tx) error {
		pages = pages[:0]
		return tx.Each(func(row *sql.Rows) error {
			p := Page{Principal: Principal{Kind: KindPerson}}
			var scopes string
			var created, expires, used int64
			err := row.Scan(&p.ID, &p.Agent, &scopes, &created, &expires, &used, &p.Principal.ID, &p.Principal.Name)
			p.Scopes, p.Created, p.Expires, p.LastUsed = parseScopes(scopes), store.Time(created), store.Time(expires), store.Time(used)
			pages = append(pages, p)
			return err
		}, query+` ORDER BY s.created_at, s.id`, args...)
	})
	return pages, err
}

// ClosePage logs a browser out: one's own always, another of the same person
// with device:manage and every scope it has, anybody's with admin. What was made
// there stays.
func (d *Directory) ClosePage(ctx context.Context, by Actor, pageID string) error {
	if by.PageID != pageID && !by.Scopes.Has(DeviceManage) {
		return ErrForbidden
	}
	var changes []change
	err := d.db.Write(ctx, func(tx *store.Tx) error {
		var person, scopes string
		err := notFound(tx.QueryRow(`SELECT person, scopes FROM page_sessions WHERE id = ?`, pageID).Scan(&person, &scopes))
		if err != nil {
			return err
		}
		if by.PageID != pageID {
			if err := by.mayEnd(person, parseScopes(scopes)); err != nil {
				return err
			}
		} else if !by.Owns(person) {
			return ErrNotFound
		}
		if changes, err = revokePages(tx, `id = ?`, pageID); err != nil || len(changes) == 0 {
			return err
		}
		return d.record(tx, by, audit.PageClosed, pageID, nil)
	})
	if err == nil {
		d.announce(changes...)
	}
	return err
}
