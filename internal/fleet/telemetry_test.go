package fleet_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/internal/approval"
	"parley.internal/internal/fleet"
	"parley.internal/internal/fleet/fault"
	"parley.internal/internal/fleet/telemetry"
	"parley.internal/internal/identity"
	"parley.internal/internal/store"
	"parley.internal/protocol/kenny"
	"parley.internal/protocol/kenny/health"
)

const goodDisk = `{"disk":{"status":"warn","summary":"the machine worries","volumes":[{"mount":"/","percent_used":40}]}}`

func disk(percent float64) string {
	return fmt.Sprintf(`{"disk":{"status":"ok","summary":"d","volumes":[{"mount":"/","percent_used":%v}]},"memory":{"status":"ok","summary":"m","percent_used":10}}`, percent)
}

func TestTelemetryIsJudgedStoredAndListed(t *testing.T) {
	onBoth(t, func(t *testing.T, db *store.DB) {
		w := newWorld(t, setup{db: db})
		m := w.join("pc")
		if s := must(w.fleet.Snapshot(t.Context(), op(), "pc", ""))(t); s.Sections != nil {
			t.Errorf("%+v; want s.Sections to be nil", s)
		}
		if h := must(w.fleet.Health(t.Context(), op(), "pc"))(t); h.Overall != kenny.StatusUnknown {
			t.Errorf("%+v; want h.Overall to be %v", h, kenny.StatusUnknown)
		}
		m.push(disk(96))
		v := w.view("pc")
		if v.Overall != kenny.StatusCrit || len(v.Crit) != 1 || v.Crit[0] != "disk" || v.Summary != "/ is 96 % full" || v.Received.IsZero() {
			t.Errorf("%+v", v)
		}
		h := must(w.fleet.Health(t.Context(), op(), "pc"))(t)
		if h.Sections["disk"].Reason == "" || h.Sections["memory"].Status != kenny.StatusOK {
			t.Errorf("%+v; want h.Sections[\"disk\"].Reason not to be \"\", h.Sections[\"memory\"].Status to be %v", h, kenny.StatusOK)
		}
		s := must(w.fleet.Snapshot(t.Context(), op(), "pc", "memory"))(t)
		if string(s.Sections["memory"]) != `{"status":"ok","summary":"m","percent_used":10}` {
			t.Errorf("%s; want string(s.Sections[\"memory\"]) to be \"{\"status\":\"ok\",\"summary\":\"m\",\"percent_used\":10}\"", s.Sections["memory"])
		}
		_, err := w.fleet.Snapshot(t.Context(), op(), "pc", "battery")
		wantCode(t, err, fault.NotFound)
		m.push(disk(50))
		hist := must(w.fleet.History(t.Context(), op(), "pc", telemetry.HistoryQuery{Metric: "disk_percent"}))(t)
		if len(hist.Points) != 2 || hist.Points[0].Value != 96 || hist.Points[1].Value != 50 || hist.Points[0].Label != "/" {
			t.Errorf("%+v", hist)
		}
		days := must(w.fleet.History(t.Context(), op(), "pc", telemetry.HistoryQuery{Metric: "disk_percent", From: time.Now().Add(-60 * 24 * time.Hour)}))(t)
		if len(days.Points) != 1 || days.Points[0].Value != 73 || days.Points[0].Min != 50 || days.Points[0].Max != 96 {
			t.Errorf("%+v", days)
		}
		past := must(w.fleet.History(t.Context(), op(), "pc", telemetry.HistoryQuery{Section: "uptime"}))(t)
		if len(past.Sections) != 0 {
			t.Errorf("%+v; want len(past.Sections) to be 0", past)
		}
		trend := must(w.fleet.Trend(t.Context(), op(), 3))(t)
		if len(trend) != 3 || trend[2].Crit != 1 || trend[2].Bad[0] != "pc" || trend[1].Crit != 0 {
			t.Errorf("%+v; want len(trend) to be 3, trend[2].Crit to be 1, trend[2].Bad[0] to be \"pc\", trend[1].Crit to be 0", trend)
		}
		_, err = w.fleet.Trend(t.Context(), op(), 91)
		wantCode(t, err, fault.BadArgs)
	})
}

func TestAFutureClockDoesNotPinTheNewestSnapshot(t *testing.T) {
	w := newWorld(t, setup{})
	m := w.join("pc")
	m.pushAt(time.Now().Add(48*time.Hour), disk(99))
	if v := w.view("pc"); !v.ClockOff || v.Overall != kenny.StatusCrit {
		t.Errorf("%+v; want v.ClockOff, v.Overall to be %v", v, kenny.StatusCrit)
	}
	m.pushAt(time.Now(), disk(10))
	if v := w.view("pc"); v.ClockOff || v.Overall != kenny.StatusOK {
		t.Errorf("%+v; want not v.ClockOff, v.Overall to be %v", v, kenny.StatusOK)
	}
}

func TestAFullCollectionIsStoredAndAFilteredOneIsNot(t *testing.T) {
	w := newWorld(t, setup{})
	w.join("pc").answers(func(r *kenny.Request) (jsontext.Value, *kenny.Error) {
		if strings.Contains(string(r.Args), "sections") {
			return jsontext.Value(disk(99)), nil
		}
		return jsontext.Value(disk(10)), nil
	})
	must(w.fleet.Collect(t.Context(), op(), "pc", []string{"disk"}))(t)
	if h := must(w.fleet.Health(t.Context(), op(), "pc"))(t); h.Overall != kenny.StatusUnknown {
		t.Errorf("%+v; want h.Overall to be %v", h, kenny.StatusUnknown)
	}
	must(w.fleet.Collect(t.Context(), op(), "pc", nil))(t)
	if h := must(w.fleet.Health(t.Context(), op(), "pc"))(t); h.Overall != kenny.StatusOK {
		t.Errorf("%+v; want h.Overall to be %v", h, kenny.StatusOK)
	}
}

func TestMutesAreShownAndNotCounted(t *testing.T) {
	w := newWorld(t, setup{})
	m := w.join("pc")
	m.push(disk(99))
	mutes := map[string]health.Mute{"disk": {Reason: "known, ordered a new one", Until: time.Now().Add(time.Hour)}}
	must(w.fleet.Edit(t.Context(), op(), "pc", fleet.Edit{Mutes: &mutes}))(t)
	if v := w.view("pc"); v.Overall != kenny.StatusOK || len(v.Crit) != 0 {
		t.Errorf("%+v; want v.Overall to be %v, len(v.Crit) to be 0", v, kenny.StatusOK)
	}
	if h := must(w.fleet.Health(t.Context(), op(), "pc"))(t); !h.Sections["disk"].Muted || h.Sections["disk"].Status != kenny.StatusCrit {
		t.Errorf("%+v; want h.Sections[\"disk\"].Muted, h.Sections[\"disk\"].Status to be %v", h, kenny.StatusCrit)
	}
}

func TestOverviewIsWorstFirstAndPaged(t *testing.T) {
	w := newWorld(t, setup{})
	for id, percent := range map[string]float64{"good": 10, "bad": 99, "poor": 85} {
		w.join(id).push(disk(percent))
	}
	w.join("quiet")
	gone := w.join("gone")
	gone.push(disk(1))
	gone.leave()
	must(w.fleet.Edit(t.Context(), op(), "poor", fleet.Edit{Tags: &[]string{"lab"}}))(t)
	all := must(w.fleet.Overview(t.Context(), op(), fleet.ListQuery{}))(t)
	var order []string
	for _, m := range all.Machines {
		order = append(order, m.ID)
	}
	if got := strings.Join(order, " "); got != "bad poor quiet good gone" || all.Overall != kenny.StatusCrit {
		t.Errorf("%s, %s; want got to be \"bad poor quiet good gone\", all.Overall to be %v", got, all.Overall, kenny.StatusCrit)
	}
	if c := all.Counts; c != (fleet.Counts{OK: 2, Warn: 1, Crit: 1, Unknown: 1, Online: 4, Off: 1}) {
		t.Errorf("%+v", c)
	}
	var paged []string
	for cursor := ""; ; {
		p := must(w.fleet.Overview(t.Context(), op(), fleet.ListQuery{Limit: 2, Cursor: cursor}))(t)
		for _, m := range p.Machines {
			paged = append(paged, m.ID)
		}
		if cursor = p.Next; cursor == "" {
			break
		}
	}
	if strings.Join(paged, " ") != strings.Join(order, " ") {
		t.Errorf("%v", paged)
	}
	for name, q := range map[string]fleet.ListQuery{"tag": {Tag: "lab"}, "q": {Q: "POO"}, "overall": {Overall: kenny.StatusWarn}} {
		if p := must(w.fleet.Machines(t.Context(), op(), q))(t); len(p.Machines) != 1 || p.Machines[0].ID != "poor" {
			t.Errorf("%s: %+v; want len(p.Machines) to be 1, p.Machines[0].ID to be \"poor\"", name, p)
		}
	}
	limited := must(w.fleet.Overview(t.Context(), as(identity.AtAPI, identity.FleetRead, "tag:lab"), fleet.ListQuery{}))(t)
	if len(limited.Machines) != 1 || limited.Counts.Crit != 0 {
		t.Errorf("%+v; want len(limited.Machines) to be 1, limited.Counts.Crit to be 0", limited)
	}
}

func TestNoticesComeOnceAndRecoveryOnlyAfterAnAnnouncedOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{slow: true, deps: func(d *fleet.Deps) { d.Limits.Sweep = 30 * time.Second }})
		m := w.join("pc")
		want := func(when string, kinds ...string) {
			t.Helper()
			synctest.Wait()
			if got := strings.Join(w.told.kinds(), " "); got != strings.Join(kinds, " ") {
				t.Errorf("%s: %s, want %v", when, got, kinds)
			}
		}
		m.push(disk(10))
		want("fine")
		m.push(disk(85))
		want("warn is not announced")
		m.push(disk(99))
		m.push(disk(99))
		want("crit once", "crit")
		m.push(disk(10))
		want("recovered", "crit", "recovered")
		m.push(disk(99))
		want("in the cool-down", "crit", "recovered")
		m.push(disk(10))
		want("recovery of what nobody was told", "crit", "recovered")
		<-time.After(time.Hour)
		m.push(disk(99))
		want("after the cool-down", "crit", "recovered", "crit")
		m.push(disk(10))
		notes := must(w.inbox.List(t.Context(), approval.Filter{Kind: approval.KindNote}))(t)
		if len(notes) != 4 || notes[0].Principal != "id-owner" || notes[0].Target != "pc" {
			t.Errorf("%+v; want len(notes) to be 4, notes[0].Principal to be \"id-owner\", notes[0].Target to be \"pc\"", notes)
		}
		m.leave()
	})
}

func TestCritInTheCoolDownIsAnnouncedWhenItLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{slow: true, deps: func(d *fleet.Deps) { d.Limits.Sweep = time.Minute }})
		m := w.join("pc")
		m.push(disk(99))
		m.push(disk(10))
		m.push(disk(99))
		<-time.After(62 * time.Minute)
		synctest.Wait()
		if got := strings.Join(w.told.kinds(), " "); got != "crit recovered crit" {
			t.Errorf("got is %v; want \"crit recovered crit\"", got)
		}
		m.leave()
	})
}

func TestOverdueMachinesAreAnnouncedAndOthersNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{slow: true, deps: func(d *fleet.Deps) { d.Limits.Sweep = 30 * time.Second }})
		key := w.enrol("cut")
		cut, off, mobile, window := w.connect("cut", key), w.join("off"), w.join("mobile"), w.join("window")
		yes := true
		must(w.fleet.Edit(t.Context(), op(), "mobile", fleet.Edit{Mobile: &yes}))(t)
		must(w.fleet.Edit(t.Context(), op(), "window", fleet.Edit{Maintenance: &fleet.Window{From: time.Now(), Until: time.Now().Add(2 * time.Hour)}}))(t)
		cut.cut()
		off.leave()
		mobile.cut()
		window.cut()
		if p := w.view("cut").Presence; p != fleet.Reconnecting {
			t.Errorf("p is %v; want %v", p, fleet.Reconnecting)
		}
		<-time.After(2 * time.Minute)
		if p := w.view("cut").Presence; p != fleet.Overdue || w.view("off").Presence != fleet.Off {
			t.Errorf("p is %v; want p to be %v, w.view(\"off\").Presence to be %v", p, fleet.Overdue, fleet.Off)
		}
		if len(w.told.kinds()) != 0 {
			t.Error("announced before the threshold")
		}
		<-time.After(15 * time.Minute)
		synctest.Wait()
		if got := strings.Join(w.told.kinds(), " "); got != "overdue" {
			t.Errorf("got is %v; want \"overdue\"", got)
		}
		// Crit is worse than overdue and does not wait for the cool-down.
		back := w.connect("cut", key)
		back.push(disk(99))
		synctest.Wait()
		if got := strings.Join(w.told.kinds(), " "); !strings.Contains(got, "crit") {
			t.Errorf("got is %v; want \"crit\" in it", got)
		}
		w.stop()
		again := newWorld(t, setup{slow: true, db: w.db, key: w.key})
		<-time.After(5 * time.Minute)
		synctest.Wait()
		if got := again.told.kinds(); len(got) != 0 {
			t.Errorf("announced again after a restart: %v", got)
		}
	})
}

func TestRetention(t *testing.T) {
	onBoth(t, func(t *testing.T, db *store.DB) {
		w := newWorld(t, setup{db: db, deps: func(d *fleet.Deps) { d.Limits.FullHistory = 1 }})
		m := w.join("a")
		w.join("b").push(disk(1))
		m.push(disk(50))
		day := 24 * time.Hour
		now := time.Now()
		check(t, db.Write(t.Context(), func(tx *store.Tx) error {
			put := func(age time.Duration) error {
				at := store.Micros(now.Add(-age))
				for _, q := range []string{
					`INSERT INTO fleet_snapshots (machine, received_at, collected_at, snapshot) SELECT 'a', ?, 0, snapshot FROM fleet_latest WHERE machine = 'a'`,
					`INSERT INTO fleet_series (machine, metric, label, span, at, value, low, high, n) VALUES ('a', 'memory_percent', '', 0, ?, 1, 1, 1, 1)`,
					`INSERT INTO fleet_series (machine, metric, label, span, at, value, low, high, n) VALUES ('a', 'memory_percent', 'day', 1, ?, 1, 1, 1, 1)`,
					`INSERT INTO fleet_events (at, sent_at, machine, source, kind, level, target, message, fields) VALUES (?, 0, 'a', 'hub', 'log', 2, 't', 'old', '')`,
				} {
					if _, err := tx.Exec(q, at); err != nil {
						return err
					}
				}
				return nil
			}
			for _, age := range []time.Duration{
				time.Hour, time.Hour + time.Minute, // within a day: all
				3*day + 10*time.Minute, 3*day + 20*time.Minute, 3*day + 30*time.Minute, // one an hour
				10*day + time.Hour, 10*day + 2*time.Hour, 10*day + 3*time.Hour, // one a day
				31 * day, 401 * day, // none
			} {
				if err := put(age); err != nil {
					return err
				}
			}
			return nil
		}))
		check(t, w.fleet.Prune(t.Context(), now))
		count := func(q string) (n int) {
			check(t, db.Read(t.Context(), func(tx *store.Tx) error { return tx.QueryRow(q).Scan(&n) }))
			return n
		}
		// Which hour or day the old ones fall into depends on the time of day.
		if n := count(`SELECT count(*) FROM fleet_snapshots WHERE machine = 'a'`); n < 5 || n > 7 {
			t.Errorf("%d snapshots", n)
		}
		if n := count(`SELECT count(*) FROM fleet_series WHERE machine = 'a' AND metric = 'memory_percent' AND span = 0`); n != 9 {
			t.Errorf("%d full points", n)
		}
		if n := count(`SELECT count(*) FROM fleet_series WHERE label = 'day'`); n != 9 {
			t.Errorf("%d days", n)
		}
		if n := count(`SELECT count(*) FROM fleet_events WHERE message = 'old'`); n != 8 {
			t.Errorf("%d events", n)
		}
	})
}

func TestEventFiltersCompose(t *testing.T) {
	w := newWorld(t, setup{})
	m := w.join("pc")
	w.join("other")
	for _, level := range []string{"error", "warn", "info"} {
		m.sess().Receive([]byte(`{"type":"log","agent_id":"pc","at":"2026-06-04T18:00:01Z","level":"` + level + `","target":"t","message":"` + level + `"}`))
	}
	list := func(q telemetry.EventQuery) int {
		t.Helper()
		return len(must(w.fleet.Events(t.Context(), op(), q))(t).Events)
	}
	if n := list(telemetry.EventQuery{Machine: "pc", Source: "machine"}); n != 3 {
		t.Errorf("n is %v; want n to be 3", n)
	}
	if n := list(telemetry.EventQuery{Machine: "pc", Source: "machine", Level: kenny.LevelWarn}); n != 2 {
		t.Errorf("n is %v; want n to be 2", n)
	}
	if n := list(telemetry.EventQuery{Machine: "other", Source: "machine"}); n != 0 {
		t.Errorf("n is %v; want n to be 0", n)
	}
	if n := list(telemetry.EventQuery{Machine: "pc", Source: "hub", Kind: "log", Since: time.Now().Add(-time.Hour), Until: time.Now().Add(time.Hour)}); n == 0 {
		t.Errorf("n is %v; want n not to be 0", n)
	}
	if n := list(telemetry.EventQuery{Machine: "pc", Since: time.Now().Add(time.Hour)}); n != 0 {
		t.Errorf("n is %v; want n to be 0", n)
	}
	first := must(w.fleet.Events(t.Context(), op(), telemetry.EventQuery{Limit: 1}))(t)
	second := must(w.fleet.Events(t.Context(), op(), telemetry.EventQuery{Limit: 1, Cursor: first.Next}))(t)
	if first.Events[0].Seq <= second.Events[0].Seq {
		t.Error("not newest first")
	}
}

func TestAStoreThatFailsKeepsTheSession(t *testing.T) {
	w := newWorld(t, setup{})
	m := w.join("pc").echoes()
	rename := func(from, to string) {
		check(t, w.db.Write(t.Context(), func(tx *store.Tx) error {
			_, err := tx.Exec(`ALTER TABLE ` + from + ` RENAME TO ` + to)
			return err
		}))
	}
	rename("fleet_snapshots", "elsewhere")
	m.push(disk(99))
	rename("elsewhere", "fleet_snapshots")
	if w.view("pc").Overall != kenny.StatusUnknown || !w.view("pc").Online {
		t.Errorf("%+v; want w.view(\"pc\").Overall to be %v, w.view(\"pc\").Online", w.view("pc"), kenny.StatusUnknown)
	}
	m.push(disk(10))
	if w.view("pc").Overall != kenny.StatusOK {
		t.Error("the next one is lost too")
	}
}

func TestWatchersHearOfTheirMachinesOnly(t *testing.T) {
	w := newWorld(t, setup{})
	a := w.join("a")
	b := w.join("b")
	heard := make(chan fleet.Change, 64)
	ready := make(chan struct{})
	go func() {
		close(ready)
		for c, err := range w.fleet.Watch(t.Context(), as(identity.AtPage, identity.FleetRead, "machine:a")) {
			if err != nil {
				return
			}
			heard <- c
		}
	}()
	<-ready
	w.until("something about a", func() bool {
		b.push(disk(1))
		a.push(disk(99))
		for len(heard) > 0 {
			c := <-heard
			if c.Machine != "a" {
				t.Fatalf("%+v; want c.Machine to be \"a\"", c)
			}
			if c.Kind == "machine" && c.View.Overall == kenny.StatusCrit {
				return true
			}
		}
		return false
	})
}

// Telemetry holds command lines of processes, and a log line whatever a program prints: a
// secret of the hub's in them reaches no page, model or database.
func TestSecretsInTelemetryAndLogsAreMasked(t *testing.T) {
	const secret = "prl_0123456789012345678901234567890123456789012"
	w := newWorld(t, setup{})
	m := w.join("pc")
	m.push(`{"processes":{"status":"ok","summary":"curl ` + secret + `","top":[{"name":"curl -H ` + secret + `","pid":7}]}}`)
	s := must(w.fleet.Snapshot(t.Context(), op(), "pc", "processes"))(t)
	if got := string(s.Sections["processes"]); strings.Contains(got, secret) || !strings.Contains(got, `"curl -H [masked]","pid":7`) {
		t.Errorf("the snapshot is %s; expected it without the token, and otherwise as it was", got)
	}
	m.sess().Receive([]byte(fmt.Sprintf(`{"type":"log","agent_id":"pc","at":%q,"level":"info","target":"x","message":"said %s","fields":{"line":"%s"}}`, time.Now().UTC().Format(time.RFC3339), secret, secret)))
	var dump strings.Builder
	w.until("the log line is kept", func() bool {
		dump.Reset()
		check(t, w.db.Dump(t.Context(), &dump))
		return strings.Contains(dump.String(), "said [masked]")
	})
	if strings.Contains(dump.String(), secret) {
		t.Error("the token is in the database")
	}
}
