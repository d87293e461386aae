// Package store keeps what Parley must not lose, in SQLite (default, one file in
// the data folder) or in PostgreSQL (several hubs), behind one small API.
//
//	db, err := store.Open(ctx, "sqlite:/var/lib/parley/parley.db", store.Options{})
//	err = db.Write(ctx, func(tx *store.Tx) error {
//		_, err := tx.Exec(`INSERT INTO notes (id, text) VALUES (?, ?)`, id, text)
//		return err
//	})
//
// What it guarantees:
//
//   - When Write returns nil the transaction is on disk: SQLite runs in WAL mode
//     with synchronous=FULL, PostgreSQL with synchronous_commit=on. A crash of the
//     process or the machine does not undo it.
//   - Writers share the disk's flush. On SQLite one goroutine owns the writing
//     connection; it runs whatever functions wait, each under a savepoint, and
//     commits them together. One failing function undoes only its own changes.
//   - Readers see one snapshot and never wait for the writer.
//   - The schema is migrated forward when the database is opened, in one
//     transaction: missing migrations are applied in order, whatever else is there.
//     A file that is damaged, or has been through a migration this program does not
//     know, is refused and left untouched.
//
// Dump writes everything to a stream while the hub runs, and Load makes a new
// database from it, of either kind, all of it or nothing: that is backup, restore,
// and the way from SQLite to PostgreSQL. Tables named fts_… are search indexes made
// from others; they are rebuilt, not dumped.
//
// Each domain package owns its tables and its SQL. The text of a query is the
// same for both databases wherever SQL allows: placeholders are `?`, times are
// Unix microseconds, booleans 0 or 1, JSON is text.
package store
