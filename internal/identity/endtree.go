package identity

import (
	"database/sql"
	"time"

	"parley.internal/internal/store"
)

// endAll ends every credential that matches, and everything made with those.
func endAll(tx *store.Tx, where string, args ...any) ([]change, error) {
	changes, err := revokeTokens(tx, where, args...)
	if err != nil {
		return nil, err
	}
	for _, end := range []func(*store.Tx, string, ...any) ([]change, error){removePasskeys, revokePages} {
		more, err := end(tx, where, args...)
		if err != nil {
			return nil, err
		}
		changes = append(changes, more...)
	}
	_, err = tx.Exec(`DELETE FROM login_links WHERE used_at = 0 AND `+where, args...)
	return changes, err
}

// endMadeWith ends what was made with m, and what that made, to the last.
func endMadeWith(tx *store.Tx, m maker) ([]change, error) {
	return endAll(tx, `maker = ?`, string(m))
}

// revokeTokens revokes the live tokens that match and what was made with them. A
// device that is left without a token is out of use.
func revokeTokens(tx *store.Tx, where string, args ...any) ([]change, error) {
	changes, err := revokeRows(tx, "tokens", refToken, where, args...)
	if err != nil || len(changes) == 0 {
		return nil, err
	}
	_, err = tx.Exec(`UPDATE devices SET revoked_at = ? WHERE revoked_at = 0
		AND id NOT IN (SELECT device FROM tokens WHERE device <> '' AND revoked_at = 0)`, store.Micros(time.Now()))
	if err != nil {
		return nil, err
	}
	for _, c := range changes {
		made, err := endMadeWith(tx, madeWithToken(c.ID))
		if err != nil {
			return nil, err
		}
		changes = append(changes, made...)
	}
	return changes, nil
}

// removePasskeys forgets the passkeys that match and ends what was made with them.
func removePasskeys(tx *store.Tx, where string, args ...any) ([]change, error) {
	var ids []string
	err := tx.Each(store.Into(&ids), `DELETE FROM passkeys WHERE `+where+` RETURNING id`, args...)
	if err != nil {
		return nil, err
	}
	var changes []change
	for _, id := range ids {
		made, err := endMadeWith(tx, madeWithPasskey(id))
		if err != nil {
			return nil, err
		}
		changes = append(changes, made...)
	}
	return changes, nil
}

func revokePages(tx *store.Tx, where string, args ...any) ([]change, error) {
	return revokeRows(tx, "page_sessions", refPage, where, args...)
}

func revokeRows(tx *store.Tx, table, kind, where string, args ...any) ([]change, error) {
	var changes []change
	err := tx.Each(func(row *sql.Rows) error {
		c := change{ref: ref{Kind: kind}, Revoked: true}
		err := row.Scan(&c.ID)
		changes = append(changes, c)
		return err
	}, `UPDATE `+table+` SET revoked_at = ? WHERE revoked_at = 0 AND `+where+` RETURNING id`,
		append([]any{store.Micros(time.Now())}, args...)...)
	if err != nil {
		return nil, err
	}
	for _, c := range changes {
		if err := c.write(tx); err != nil {
			return nil, err
		}
	}
	return changes, nil
}
