package store

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

//go:embed migrations
var migrationFiles embed.FS

// migration is one step of the schema. All steps of all parts have one order, that
// of their numbers; a database records the number of each it has been through.
type migration struct {
	number int64
	text   string
}

// migrationName is a file's name: its number and what it is about.
var migrationName = regexp.MustCompile(`^(\d{5})_[a-z0-9_]+\.sql$`)

// knownMigrations are those of this program, in order.
func knownMigrations(dialect Dialect) ([]migration, error) {
	dir := path.Join("migrations", string(dialect))
	files, err := fs.ReadDir(migrationFiles, dir)
	if err != nil {
		return nil, err
	}
	var all []migration
	for _, file := range files { // ReadDir sorts by name, and names begin with the number
		found := migrationName.FindStringSubmatch(file.Name())
		if found == nil {
			return nil, fmt.Errorf("store: %s is not the name of a migration", file.Name())
		}
		number, err := strconv.ParseInt(found[1], 10, 64)
		if err != nil {
			return nil, err
		}
		text, err := fs.ReadFile(migrationFiles, path.Join(dir, file.Name()))
		if err != nil {
			return nil, err
		}
		all = append(all, migration{number: number, text: string(text)})
	}
	return all, nil
}

// without are the migrations whose numbers are not in the set.
func without(known []migration, set []int64) []migration {
	return slices.DeleteFunc(slices.Clone(known), func(m migration) bool { return slices.Contains(set, m.number) })
}

// checkKnown refuses a set with a migration this program does not know: it cannot
// tell what a table means that somebody else has changed.
func checkKnown(what string, set []int64, known []migration) error {
	var strange []string
	for _, number := range set {
		if !slices.ContainsFunc(known, func(m migration) bool { return m.number == number }) {
			strange = append(strange, strconv.FormatInt(number, 10))
		}
	}
	if len(strange) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s has schema changes this program does not know (%s); run the newer parley, or restore a backup that this one made",
		ErrNewer, what, strings.Join(strange, ", "))
}

var createsTable = regexp.MustCompile(`(?m)^CREATE (?:VIRTUAL )?TABLE (\w+)`)

// tables are those the migration makes, in the order in which it makes them.
func (m migration) tables() (names []string) {
	for _, found := range createsTable.FindAllStringSubmatch(m.text, -1) {
		names = append(names, found[1])
	}
	return names
}
