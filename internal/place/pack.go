package place

import (
	"strconv"
	"strings"

	"parley.internal/internal/store"
)

// Entries that are written together are one row of the audit, a pack: its action
// says so, its detail holds them line by line, and its number is that of the last
// of them, so that entries are numbered one by one either way. Many small rows
// would cost a message as much as its own does.
const actPack = "pack"

// packEntry adds one line: fields apart by tabs, those at the end left out if they
// are empty.
func packEntry(to []byte, action, agent, other, ref, kind string, size int64, hash, detail string) []byte {
	if len(to) > 0 {
		to = append(to, '\n')
	}
	to = packField(to, action)
	to = packField(append(to, '\t'), agent)
	if other+ref+kind+hash+detail == "" && size == 0 {
		return to
	}
	for _, field := range [...]string{other, ref, kind} {
		to = packField(append(to, '\t'), field)
	}
	to = strconv.AppendInt(append(to, '\t'), size, 10)
	to = packField(append(to, '\t'), hash)
	if detail != "" {
		to = packField(append(to, '\t'), detail)
	}
	return to
}

var (
	packEscape   = strings.NewReplacer("\\", `\\`, "\t", `\t`, "\n", `\n`)
	packUnescape = strings.NewReplacer(`\\`, "\\", `\t`, "\t", `\n`, "\n")
)

func packField(to []byte, field string) []byte {
	if strings.ContainsAny(field, "\\\t\n") {
		field = packEscape.Replace(field)
	}
	return append(to, field...)
}

// unpack is the entries of a row: itself, or what the pack holds.
func (a auditRow) unpack() []auditRow {
	if a.action != actPack {
		return []auditRow{a}
	}
	n := int64(strings.Count(a.detailRaw, "\n"))
	out := make([]auditRow, 0, n+1)
	for line := range strings.SplitSeq(a.detailRaw, "\n") {
		out = append(out, a.unpackLine(line, a.seq-n+int64(len(out))))
	}
	return out
}

func (a auditRow) unpackLine(line string, seq int64) auditRow {
	e := auditRow{seq: seq, at: a.at, event: a.event}
	size := ""
	for _, to := range [...]*string{&e.action, &e.agent, &e.other, &e.ref, &e.kind, &size, &e.hash, &e.detailRaw} {
		*to, line, _ = strings.Cut(line, "\t")
		if strings.IndexByte(*to, '\\') >= 0 {
			*to = packUnescape.Replace(*to)
		}
	}
	e.size, _ = strconv.ParseInt(size, 10, 64)
	return e
}

// writePack writes entries of one event as one row. Only SQLite, where nobody else
// gives out numbers meanwhile, has packs.
func writePack(tx *store.Tx, at int64, event string, entries int, lines []byte) error {
	_, err := tx.Exec(`INSERT INTO place_audit (seq, at, event, action, agent, other, ref, kind, size, hash, detail)
		SELECT COALESCE(max(seq), 0) + ?, ?, ?, '`+actPack+`', '', '', '', '', 0, '', ? FROM place_audit`, entries, at, event, string(lines))
	return err
}
