package identity

import (
	"database/sql"
	"errors"
	"strings"

	"parley.internal/internal/store"
)

// SameProgram reports whether two came with credentials of one program: with the same
// token, or with such that one token made, however long the way. A program could
// otherwise log a page in, make a second token, and say yes to itself. Whoever sits at
// a page in person came with no program's.
func SameProgram(tx *store.Tx, one, other Via) (bool, error) {
	if one.TokenID != "" && one.TokenID == other.TokenID && one.PageID == "" && other.PageID == "" {
		return true, nil
	}
	a, err := programOf(tx, one)
	if err != nil || a == byHub {
		return false, err
	}
	b, err := programOf(tx, other)
	return a == b, err
}

// programOf is the first token of somebody's line that may be a program's; none for
// people at a page and for the hub. Whatever that token made is the same program's.
func programOf(tx *store.Tx, v Via) (maker, error) {
	m := madeWithToken(v.TokenID)
	if v.TokenID == "" {
		m = byHub
	}
	if v.PageID != "" {
		var made string
		err := tx.QueryRow(`SELECT maker FROM page_sessions WHERE id = ?`, v.PageID).Scan(&made)
		if err == nil {
			m = maker(made)
		} else if !errors.Is(err, sql.ErrNoRows) { // of a page that is forgotten its token is known
			return "", err
		}
	}
	line, err := ancestry(tx, m)
	if ReasonOf(err) != "" { // part of the line has ended and is gone
		return m, nil
	}
	program := byHub
	for _, made := range line {
		id, token := strings.CutPrefix(string(made), "token:")
		if !token {
			continue
		}
		owners, err := isOwnerToken(tx, id)
		if err != nil {
			return "", err
		}
		if !owners {
			program = made
		}
	}
	return program, err
}

// OfNoProgram reports whether no program's token is in somebody's line of credentials: a
// person at a page in person, or the owner at the hub's own machine.
func OfNoProgram(tx *store.Tx, v Via) (bool, error) {
	program, err := programOf(tx, v)
	return err == nil && program == byHub, err
}
