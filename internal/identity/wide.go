package identity

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"

	"parley.internal/internal/store"
)

// HoldersByName lists the people who have credentials with what "*" does not give
// any more (talk:admin, fleet:admin, terminal:create) and without admin, so that
// an owner can look whether that is meant. Hubs before version 54 of the schema
// gave them to whoever asked for "*".
func HoldersByName(ctx context.Context, db *store.DB) ([]string, error) {
	now := store.Micros(time.Now())
	var people []string
	err := db.Read(ctx, func(tx *store.Tx) error {
		people = nil
		for _, from := range []string{
			`tokens c JOIN people p ON p.id = c.person WHERE c.revoked_at = 0 AND c.used_at = 0 AND (c.expires_at = 0 OR c.expires_at > ?)`,
			`page_sessions c JOIN people p ON p.id = c.person WHERE c.revoked_at = 0 AND c.expires_at > ?`,
			`passkeys c JOIN people p ON p.id = c.person WHERE c.created_at < ?`,
		} {
			err := tx.Each(func(row *sql.Rows) error {
				var name, scopes string
				err := row.Scan(&name, &scopes)
				if wide(scopes) {
					people = append(people, name)
				}
				return err
			}, `SELECT p.name, c.scopes FROM `+from, now)
			if err != nil {
				return err
			}
		}
		return nil
	})
	slices.Sort(people)
	return slices.Compact(people), err
}

func wide(joined string) bool {
	names := strings.Split(joined, ",")
	has := func(scope string) bool { return slices.Contains(names, scope) }
	return !has(Admin) && (has(TalkAdmin) || has(FleetAdmin) || has(TerminalCreate))
}
