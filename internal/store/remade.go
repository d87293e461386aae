package store

import (
	"fmt"
	"slices"
	"strings"
)

// Four migration files were changed in their first hours, when hubs had already
// been run with them. A database that has been through one of the older files has
// its number in the record and tables of another form. It gets the tables of today
// before anything else is applied. This list is closed: a migration that was
// committed does not change any more.
//
// The query counts something that only the older form has.
var remadeMigrations = []struct {
	number int64
	older  map[Dialect]string
}{
	{2, foreignKeysOf("devices")},
	{4, foreignKeysOf("approval_votes")},
	{10, map[Dialect]string{
		SQLite:   `SELECT count(*) FROM pragma_table_info('talk_docs') WHERE name = 'text'`,
		Postgres: `SELECT count(*) FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = 'talk_docs' AND column_name = 'text'`,
	}},
	{40, map[Dialect]string{
		SQLite:   `SELECT count(*) FROM sqlite_master WHERE name = 'place_messages_expiry' AND sql LIKE '%(expires_at) WHERE%'`,
		Postgres: `SELECT count(*) FROM pg_indexes WHERE schemaname = current_schema() AND indexname = 'place_messages_expiry' AND indexdef LIKE '%(expires_at) WHERE%'`,
	}},
}

func foreignKeysOf(table string) map[Dialect]string {
	return map[Dialect]string{
		SQLite: `SELECT count(*) FROM pragma_foreign_key_list('` + table + `')`,
		Postgres: `SELECT count(*) FROM information_schema.table_constraints
			WHERE table_schema = current_schema() AND table_name = '` + table + `' AND constraint_type = 'FOREIGN KEY'`,
	}
}

// older is what has to be known about the columns of tables that changed their form.
var older = map[string]struct {
	lost map[string]string // columns there are no more, with their types
	new  map[string]string // columns there were not, made from those there were
	also string            // a further statement that takes something from the older rows
}{
	"passkeys":  {new: map[string]string{"scopes": "''"}},
	"approvals": {lost: map[string]string{"detail": "text", "remember": "bigint"}, new: map[string]string{"may_remember": "remember", "changed": "0"}},
	"talk_docs": {
		lost: map[string]string{"scope": "text", "text": "text"}, new: map[string]string{"size": "octet_length(text)"},
		also: `INSERT INTO talk_texts (id, scope, text) SELECT id, scope, text FROM old_talk_docs`,
	},
}

// olderForm reports whether the columns are those of a table's older form.
func olderForm(table string, columns []string, today []column) bool {
	form, ok := older[table]
	if !ok {
		return false
	}
	for _, name := range columns {
		if form.lost[name] != "" {
			return true
		}
	}
	for name := range form.new {
		if !slices.Contains(columns, name) && slices.Contains(columnNames(today), name) {
			return true
		}
	}
	return false
}

// remakeOldTables gives tables of an older form the one of today, with their rows.
func remakeOldTables(tx *Tx, known []migration, applied []int64) error {
	for _, r := range remadeMigrations {
		if !slices.Contains(applied, r.number) {
			continue
		}
		var n int
		if err := tx.QueryRow(r.older[tx.dialect]).Scan(&n); err != nil {
			return err
		}
		if n == 0 {
			continue
		}
		at := slices.IndexFunc(known, func(m migration) bool { return m.number == r.number })
		if err := remake(tx, known[at]); err != nil {
			return fmt.Errorf("%05d again: %w", r.number, err)
		}
	}
	return nil
}

// remake runs a migration again in place of what an older text of it made.
func remake(tx *Tx, m migration) error {
	var kept []keptTable
	made := m.tables()
	for _, table := range slices.Backward(made) { // those that refer to others come later
		there, err := hasTable(tx, table)
		if err != nil {
			return err
		}
		if !there {
			continue
		}
		if !strings.HasPrefix(table, "fts_") {
			k, err := keep(tx, table)
			if err != nil {
				return err
			}
			kept = append(kept, k)
		}
		if _, err := tx.Exec(`DROP TABLE ` + table); err != nil {
			return err
		}
	}
	if err := tx.on.script(tx.ctx, m.text); err != nil {
		return err
	}
	for _, k := range kept {
		if err := k.bringBack(tx); err != nil {
			return err
		}
	}
	if tx.dialect == Postgres {
		return continueCounters(tx, made)
	}
	return rebuildSearch(tx)
}

// keptTable holds the rows of a table while the table is made anew.
type keptTable struct {
	of, name string
	columns  []column
}

func keep(tx *Tx, table string) (keptTable, error) {
	k := keptTable{of: table, name: "old_" + table}
	var err error
	if k.columns, err = listColumns(tx, table); err != nil {
		return k, err
	}
	_, err = tx.Exec(`CREATE TEMP TABLE ` + k.name + ` AS SELECT ` + strings.Join(columnNames(k.columns), ", ") + ` FROM ` + table)
	return k, err
}

// makeAside makes an empty one for rows of an older form that a dump brings.
func makeAside(tx *Tx, t dumpTable, today []column) (keptTable, error) {
	k := keptTable{of: t.Table, name: "old_" + t.Table}
	var defined []string
	for _, name := range t.Columns {
		kind := older[t.Table].lost[name]
		if at := slices.IndexFunc(today, func(c column) bool { return c.name == name }); at >= 0 {
			kind = today[at].kind
		}
		if kind == "" {
			return k, fmt.Errorf("%w: unknown column %s.%q", ErrBadDump, t.Table, name)
		}
		k.columns = append(k.columns, column{name, kind})
		defined = append(defined, name+" "+kind)
	}
	_, err := tx.Exec(`CREATE TEMP TABLE ` + k.name + ` (` + strings.Join(defined, ", ") + `)`)
	return k, err
}

// bringBack puts the rows into the table of today.
func (k keptTable) bringBack(tx *Tx) error {
	today, err := listColumns(tx, k.of)
	if err != nil {
		return err
	}
	old := columnNames(k.columns)
	var into, from []string
	for _, c := range today {
		switch {
		case slices.Contains(old, c.name):
			into, from = append(into, c.name), append(from, c.name)
		case older[k.of].new[c.name] != "":
			into, from = append(into, c.name), append(from, older[k.of].new[c.name])
		}
	}
	for _, statement := range []string{
		`DELETE FROM ` + k.of,
		`INSERT INTO ` + k.of + ` (` + strings.Join(into, ", ") + `) SELECT ` + strings.Join(from, ", ") + ` FROM ` + k.name,
		older[k.of].also,
		`DROP TABLE ` + k.name,
	} {
		if statement == "" {
			continue
		}
		if _, err := tx.Exec(statement); err != nil {
			return err
		}
	}
	return nil
}
