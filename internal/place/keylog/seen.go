package keylog

import (
	"golang.org/x/mod/sumdb/tlog"

	"parley.internal/internal/store"
	"parley.internal/protocol/mmp"
)

// Bounds of what is remembered of other places: anybody can make keys and sign heads.
const (
	headsEach = 8
	headsAll  = 10_000
)

// Saw keeps a head of another place and tells whether it contradicts one that is known:
// both are kept then, as the proof.
func Saw(tx *store.Tx, h mmp.Head, now int64) (contradicts bool, err error) {
	known, err := headsOf(tx, h.PlaceKey)
	if err != nil {
		return false, err
	}
	longer := 0
	for _, k := range known {
		switch {
		case k == h:
			return false, nil
		case k.Contradicts(h):
			contradicts = true
		case k.Size > h.Size:
			longer++
		}
	}
	var all int
	if err := tx.QueryRow(`SELECT count(*) FROM place_heads`).Scan(&all); err != nil {
		return false, err
	}
	if !contradicts && (longer >= headsEach || all >= headsAll) {
		return false, nil
	}
	if _, err = tx.Exec(`INSERT INTO place_heads (place_key, size, root, signature, seen_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		h.PlaceKey, h.Size, h.Root.String(), h.Signature, now); err != nil || contradicts {
		return contradicts, err
	}
	return false, forgetShortest(tx, h.PlaceKey, len(known)+1)
}

// forgetShortest makes room: a longer head says all that a shorter one said.
func forgetShortest(tx *store.Tx, placeKey string, n int) error {
	if n <= headsEach {
		return nil
	}
	_, err := tx.Exec(`DELETE FROM place_heads WHERE place_key = ? AND size = (SELECT min(size) FROM place_heads WHERE place_key = ?)
		AND (SELECT count(*) FROM place_heads h WHERE h.place_key = place_heads.place_key AND h.size = place_heads.size) = 1`, placeKey, placeKey)
	return err
}

// Superseded forgets heads that a longer one was seen to continue: it says all they said.
func Superseded(tx *store.Tx, by mmp.Head, heads []mmp.Head) error {
	for _, h := range heads {
		if h.Size >= by.Size {
			continue
		}
		if _, err := tx.Exec(`DELETE FROM place_heads WHERE place_key = ? AND size = ? AND root = ?`, h.PlaceKey, h.Size, h.Root.String()); err != nil {
			return err
		}
	}
	return nil
}

// HeadsOf lists what was seen of one place, the longest first.
func HeadsOf(tx *store.Tx, placeKey string) ([]mmp.Head, error) { return headsOf(tx, placeKey) }

func headsOf(tx *store.Tx, placeKey string) ([]mmp.Head, error) {
	return heads(tx, `WHERE place_key = ? ORDER BY size DESC`, placeKey)
}

// Heads lists what was seen of other places, the latest first.
func Heads(tx *store.Tx) ([]mmp.Head, error) {
	return heads(tx, `ORDER BY seen_at DESC, place_key, size DESC LIMIT ?`, mmp.MaxHeads)
}

func heads(tx *store.Tx, rest string, args ...any) ([]mmp.Head, error) {
	out := []mmp.Head{}
	err := tx.Each(store.IntoBy(&out, scanHead), `SELECT place_key, size, root, signature FROM place_heads `+rest, args...)
	return out, err
}

func scanHead(r store.Row) (h mmp.Head, err error) {
	var root string
	if err = r.Scan(&h.PlaceKey, &h.Size, &root, &h.Signature); err != nil {
		return h, err
	}
	h.Root, err = tlog.ParseHash(root)
	return h, err
}

// Contradicted tells that two heads of one length are known of a place.
func Contradicted(tx *store.Tx, placeKey string) (bool, error) {
	var n int
	err := tx.QueryRow(`SELECT count(*) FROM (SELECT size FROM place_heads WHERE place_key = ? GROUP BY size HAVING count(*) > 1) twice`, placeKey).Scan(&n)
	return n > 0, err
}
