package identity

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"parley.internal/internal/store"
)

// maker names the credential that another one was made with: "token:ID" or
// "passkey:ID". What is made can do at most what its maker can, lives at most as
// long, and ends with it; docs/decisions/023-no-growth.md says why it is so.
//
// A one-time secret (login link, pairing token) and a page are no makers: they
// pass on what they were made with themselves. So whoever logs out of a browser
// keeps the tokens made there, and loses them with the token or passkey that
// logged the browser in.
type maker string

// byHub made what comes from the hub itself or from whoever has its data folder.
// It never ends.
const byHub maker = ""

// maxGenerations bounds how long a line of makers may be, so that walking it is cheap.
const maxGenerations = 32

func madeWithToken(id string) maker   { return maker("token:" + id) }
func madeWithPasskey(id string) maker { return maker("passkey:" + id) }

// author is what an actor hands on to whatever it makes.
type author struct {
	maker maker
	// end is when the maker ends; zero means never.
	end time.Time
	// scopes is the most it may give.
	scopes Scopes
}

// authorOf looks at the actor's credential as it is now, in the transaction
// that makes something with it. One that has ended makes nothing any more.
func authorOf(tx *store.Tx, by Actor) (author, error) {
	if err := lockCredentials(tx); err != nil {
		return author{}, err
	}
	a := author{scopes: by.Scopes}
	var err error
	switch {
	case by.PageID != "":
		a.maker, err = makerOfPage(tx, by.PageID)
	case by.TokenID != "":
		a.maker = madeWithToken(by.TokenID)
		if by.Credential == TokenDevice {
			err = slide(tx, by.TokenID, time.Now())
		}
	case !by.Owner && by.Person.Kind != KindHub:
		return author{}, ErrForbidden // nobody acts without a credential but the hub and its owner
	}
	if err != nil {
		return author{}, err
	}
	if _, err := ancestry(tx, a.maker); err != nil {
		return author{}, err
	}
	if a.end, err = endOf(tx, a.maker); err != nil {
		return author{}, err
	}
	hubs, err := hubsOwn(tx, by)
	if hubs && by.Admin() && !by.Scopes.Limited() {
		a.scopes = Expand(append(by.Scopes.Sorted(), FleetUnattended)...)
	}
	return a, err
}

// lockCredentials lets one transaction at a time make or end credentials, so that
// nothing is made with what another hub is just revoking.
func lockCredentials(tx *store.Tx) error {
	_, err := tx.Exec(`UPDATE identity_clock SET seq = seq WHERE one = 1`)
	return err
}

// hubsOwn reports whether the owner acts with what the hub itself gave out: the
// local socket, the data folder, or owner.token, which alone has no life to
// count. Only there is fleet:unattended, which nobody holds, given by name.
func hubsOwn(tx *store.Tx, by Actor) (bool, error) {
	switch {
	case by.PageID != "":
		return false, nil
	case by.TokenID == "":
		return true, nil
	case !by.Owner:
		return false, nil
	}
	return isOwnerToken(tx, by.TokenID)
}

func isOwnerToken(tx *store.Tx, id string) (bool, error) {
	var n int
	err := tx.QueryRow(`SELECT COUNT(*) FROM tokens t JOIN people p ON p.id = t.person WHERE t.id = ? AND t.maker = '' AND t.ttl = 0 AND p.owner = 1`, id).Scan(&n)
	return n > 0, err
}

// inPerson reports whether a human sits at a page that m logged in: whether its line
// leads by passkeys alone to the hub, or to owner.token, which only whoever is on the
// hub's machine can read. Any other token in it may be a program's, and a page is at
// most what it was made with.
func inPerson(tx *store.Tx, m maker) (bool, error) {
	line, err := ancestry(tx, m)
	if err != nil {
		return false, err
	}
	for _, made := range line {
		id, token := strings.CutPrefix(string(made), "token:")
		if !token {
			continue
		}
		if owners, err := isOwnerToken(tx, id); err != nil || !owners {
			return false, err
		}
	}
	return true, nil
}

func makerOfPage(tx *store.Tx, id string) (maker, error) {
	var m string
	var expires, revoked int64
	err := tx.QueryRow(`SELECT maker, expires_at, revoked_at FROM page_sessions WHERE id = ?`, id).Scan(&m, &expires, &revoked)
	if err != nil {
		return "", ended(err)
	}
	return maker(m), judgeEnd(expires, revoked, "")
}

// endOf is when a maker ends; one that has ended is refused.
func endOf(tx *store.Tx, m maker) (time.Time, error) {
	kind, id, _ := strings.Cut(string(m), ":")
	var expires, revoked int64
	var err error
	switch kind {
	case "":
		return time.Time{}, nil
	case "token":
		err = tx.QueryRow(`SELECT expires_at, revoked_at FROM tokens WHERE id = ?`, id).Scan(&expires, &revoked)
	case "passkey":
		err = tx.QueryRow(`SELECT expires_at FROM passkeys WHERE id = ?`, id).Scan(&expires)
	default:
		err = fmt.Errorf("%w: unknown maker %q", ErrInvalid, m)
	}
	if err != nil {
		return time.Time{}, ended(err)
	}
	return store.Time(expires), judgeEnd(expires, revoked, id)
}

// slide moves the end of a device's token, which lives from use to use, but never
// beyond its maker's.
func slide(tx *store.Tx, tokenID string, used time.Time) error {
	var ttl int64
	var m string
	if err := tx.QueryRow(`SELECT ttl, maker FROM tokens WHERE id = ?`, tokenID).Scan(&ttl, &m); err != nil {
		return ended(err)
	}
	limit, err := endOf(tx, maker(m))
	if err != nil {
		return err
	}
	end := earlier(used.Add(time.Duration(ttl)*time.Microsecond), limit)
	_, err = tx.Exec(`UPDATE tokens SET last_used_at = ?, expires_at = ? WHERE id = ? AND last_used_at < ?`,
		store.Micros(used), store.Micros(end), tokenID, store.Micros(used))
	return err
}

// judgeEnd refuses what was revoked or has expired; an end of 0 never comes.
func judgeEnd(expires, revoked int64, tokenID string) error {
	switch {
	case revoked != 0:
		return refused(Revoked, tokenID)
	case expires != 0 && !time.Now().Before(store.Time(expires)):
		return refused(Expired, tokenID)
	default:
		return nil
	}
}

// ended turns an absent credential into a revoked one.
func ended(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return refused(Revoked, "")
	}
	return err
}

// ancestry lists m, what made m, and so on up to the hub, which is left out.
func ancestry(tx *store.Tx, m maker) ([]maker, error) {
	var line []maker
	for m != byHub {
		if len(line) == maxGenerations {
			return nil, fmt.Errorf("%w: a credential made by one made by one …, more than %d times", ErrInvalid, maxGenerations)
		}
		line = append(line, m)
		kind, id, _ := strings.Cut(string(m), ":")
		table := "tokens"
		if kind == "passkey" {
			table = "passkeys"
		}
		var next string
		if err := tx.QueryRow(`SELECT maker FROM `+table+` WHERE id = ?`, id).Scan(&next); err != nil {
			return nil, ended(err)
		}
		m = maker(next)
	}
	return line, nil
}

// earlier is the sooner of two ends; zero means never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}
