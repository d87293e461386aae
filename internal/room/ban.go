package room

import (
	"slices"
	"strings"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/store"
	"parley.internal/protocol/kibitz"
)

// bar keeps identities out until they are let in again.
func (r *room) bar(who by, marks []string, reason string, entries ...audit.Entry) error {
	now := time.Now()
	err := r.write(func(tx *store.Tx) error {
		for _, m := range marks {
			_, err := tx.Exec(`INSERT INTO room_bans (room, id, by_whom, at, reason) VALUES (?, ?, ?, ?, ?) ON CONFLICT (room, id) DO NOTHING`,
				r.id, m, who.actor, now.UnixMilli(), reason)
			if err != nil {
				return err
			}
			if _, err := tx.Exec(`DELETE FROM room_known WHERE room = ? AND identity = ?`, r.id, m); err != nil {
				return err
			}
		}
		return nil
	}, entries...)
	if err != nil {
		return err
	}
	for _, m := range marks {
		if _, ok := r.bans[m]; !ok {
			r.bans[m] = Ban{ID: m, By: who.actor, TS: now.UnixMilli(), Reason: reason}
		}
		delete(r.known, m)
	}
	return nil
}

// banMark is the identity a command names: "key:…", a principal, an email, or a
// bare thumbprint.
func banMark(target string) string {
	if strings.Contains(target, ":") {
		return target
	}
	return "key:" + target
}

// ban bars a key or a principal, here or not.
func (r *room) ban(who by, cmd HostCommand) error {
	if cmd.Target == "" {
		return deny(kibitz.ToUnknown, "nobody named")
	}
	if p := r.byID[cmd.Target]; p != nil {
		return r.kickOut(who, cmd)
	}
	mark := banMark(cmd.Target)
	n := note{kind: audit.RoomBanned, actor: who.actor, detail: mark}
	if err := r.bar(who, []string{mark}, cmd.Reason, n.entry(r.id)); err != nil {
		return err
	}
	for _, p := range r.everybody() {
		if slices.Contains(p.marks(), mark) {
			r.kick(p, errKicked, who.actor, false)
		}
	}
	return nil
}

// everybody is who is here or may still come back.
func (r *room) everybody() []*participant {
	all := slices.Clone(r.order)
	for _, p := range r.departed {
		all = append(all, p)
	}
	return all
}

// unban lets an identity in again.
func (r *room) unban(who by, target string) error {
	mark := banMark(target)
	if _, ok := r.bans[mark]; !ok {
		if _, ok := r.bans[target]; !ok {
			return deny(kibitz.ToUnknown, "not barred")
		}
		mark = target
	}
	n := note{kind: audit.RoomUnbanned, actor: who.actor, detail: mark}
	err := r.write(func(tx *store.Tx) error {
		_, err := tx.Exec(`DELETE FROM room_bans WHERE room = ? AND id = ?`, r.id, mark)
		return err
	}, n.entry(r.id))
	if err == nil {
		delete(r.bans, mark)
	}
	return err
}

func (r *room) banList() []Ban {
	out := []Ban{}
	for _, b := range r.bans {
		if !strings.HasPrefix(b.ID, "resume:") {
			out = append(out, b)
		}
	}
	sortBy(out, func(b Ban) string { return b.ID })
	return out
}
