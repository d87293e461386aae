package talk_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/brain/tool"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
	"parley.internal/internal/talk"
	"parley.internal/internal/talk/memory"
)

func TestCompactArchivesTheWindowAndTheConversationGoesOn(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h := newHub(t, db)
		if _, err := h.Compact(t.Context(), me, crab, ""); !errors.Is(err, talk.ErrNotFound) {
			t.Errorf("unknown: %v", err)
		}
		h.say("/say one")
		h.say("/say two")
		a, err := h.Compact(t.Context(), me, crab, "prices")
		if err != nil {
			t.Fatal(err)
		}
		if a.Summary != `Conversation of 4 messages about "/say one". Last: "/say two". Focus: prices.` || a.Title != `Conversation of 4 messages about "/say one".` || a.FromSeq != 1 || a.ToSeq != 4 {
			t.Errorf("%+v", a)
		}
		if _, err := time.Parse(time.RFC3339, a.ArchivedAt); err != nil {
			t.Error(err)
		}
		if _, err := h.Compact(t.Context(), me, crab, ""); !errors.Is(err, talk.ErrNothing) {
			t.Errorf("nothing since: %v", err)
		}
		h.say("/say three")
		want := []string{"user <summary archived_at=\"" + a.ArchivedAt + "\">\n" + a.Summary + "\n</summary>", "user /say three"}
		if diff := cmp.Diff(want, plain(h.models.last(t))); diff != "" {
			t.Error(diff)
		}
		if n := len(h.stored(crab)); n != 6 {
			t.Errorf("%d messages", n)
		}
		list, err := h.Archives(t.Context(), me, crab, "", 0)
		if err != nil || len(list) != 1 || list[0].ID != a.ID {
			t.Errorf("%+v, %v; want no error, len(list) to be 1, list[0].ID to be %v", list, err, a.ID)
		}
		page, err := h.Archive(t.Context(), me, a.ID, 0, 3)
		if err != nil || len(page.Messages) != 3 || !page.Truncated || page.Messages[0].Text != "/say one" {
			t.Errorf("%+v, %v; want no error, len(page.Messages) to be 3, page.Truncated, page.Messages[0].Text to be \"/say one\"", page, err)
		}
	})
}

func TestTheSummaryRequestIsAsItShouldBe(t *testing.T) {
	long := &tool.Tool{Name: "echo", Class: tool.ReadOnly, Run: func(context.Context, tool.Call) (tool.Result, error) {
		return tool.Result{Text: strings.Repeat("é", 5000)}, nil
	}}
	h := newHub(t, sqlite(t), withTools(long))
	h.agents.put(t, "crab", "---\ntools: [echo]\ncompact_tool_max_len: 7\n---\nYou are crab.")
	h.say("/tool echo\n/say ok")
	h.turn(talk.TurnRequest{Content: "/say guest", Guest: "twin"})
	if _, err := h.Compact(t.Context(), me, crab, "the colours"); err != nil {
		t.Fatal(err)
	}
	req := h.models.of(model.ForCompact)[0]
	got := plain(req)
	if !strings.HasPrefix(req.System, "Summarize the conversation") || req.Focus != "the colours" || len(req.Tools) != 0 {
		t.Errorf("%+v", req)
	}
	if !strings.Contains(got[0], "You are crab.") || got[len(got)-1] != "user Write the summary now.\nKeep in particular: the colours" {
		t.Error(got)
	}
	text := strings.Join(got, "\n")
	if !strings.Contains(text, "tool ééééééé […]") || strings.Contains(text, "éééééééé") || !strings.Contains(text, "<from agent=\"twin\">\nguest\n</from>") {
		t.Error(text)
	}
}

func TestAFailedSummaryChangesNothing(t *testing.T) {
	h := newHub(t, sqlite(t))
	h.say("/say one")
	for name, play := range map[string]func(yield func(model.Event, error) bool){
		"failed": func(yield func(model.Event, error) bool) {
			yield(model.Event{}, &model.Error{Provider: "offline", Cause: model.CauseBadData, Text: "no"})
		},
		"empty": func(yield func(model.Event, error) bool) {
			yield(model.Event{Kind: model.Text, Text: " \n "}, nil)
			yield(model.Event{Kind: model.Done}, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			h.models.playing(func(_ context.Context, _ model.Request, yield func(model.Event, error) bool) bool {
				play(yield)
				return true
			})
			if _, err := h.Compact(t.Context(), me, crab, ""); !errors.Is(err, talk.ErrSummary) {
				t.Errorf("got %v", err)
			}
			h.models.playing(nil)
			if list, err := h.Archives(t.Context(), me, crab, "", 0); err != nil || len(list) != 0 {
				t.Errorf("%v, %v; want no error, len(list) to be 0", list, err)
			}
			h.say("/say still")
			if got := plain(h.models.last(t)); got[0] != "user /say one" {
				t.Errorf("got is %v; want got[0] to be \"user /say one\"", got)
			}
		})
	}
}

func TestAutomaticCompactionGoesByReportedUsageAfterTheEnd(t *testing.T) {
	h := newHub(t, sqlite(t))
	h.agents.put(t, "crab", "---\ncompact_threshold: 100\n---\n")
	d := h.attach(t, crab, 0, 0)
	d.caughtUp()
	got := h.say("/usage 60 40\n/say not yet")
	if len(got.of(talk.Compacted)) != 0 {
		t.Errorf("got is %v; want len(got.of(talk.Compacted)) to be 0", got)
	}
	run := h.begin(talk.TurnRequest{Content: "/usage 60 41\n/say now"})
	next := h.begin(talk.TurnRequest{Content: "/say after"})
	if got := all(t, run); len(got.of(talk.Compacted)) != 0 {
		t.Error("compacted before the end")
	}
	all(t, next)
	seen := d.until(func(e talk.ConversationEvent) bool { return e.Event != nil && e.Event.Kind == talk.Compacted })
	if before := seen[len(seen)-2].Event; before == nil || before.Kind != talk.End && before.Kind != talk.Queued {
		t.Errorf("%+v", before)
	}
	if c := seen[len(seen)-1].Event.Compaction; !c.Automatic || c.Messages != 4 || c.ArchiveID == "" || c.Usage.Total() == 0 {
		t.Errorf("%+v; want c.Automatic, c.Messages to be 4, c.ArchiveID not to be \"\", c.Usage.Total() not to be 0", c)
	}
	if got := plain(h.models.last(t)); len(got) != 2 || !strings.HasPrefix(got[0], "user <summary") {
		t.Errorf("got is %v; want len(got) to be 2, strings.HasPrefix(got[0], \"user <summary\")", got)
	}
	h.agents.put(t, "crab", "---\ncompact_threshold: off\n---\n")
	h.say("/usage 1000000 1\n/say huge")
	h.say("/say x")
	if n := len(h.models.of(model.ForCompact)); n != 1 {
		t.Errorf("%d compactions although off", n)
	}
}

func TestAFailedAutomaticCompactionIsTriedAgainThreeTimes(t *testing.T) {
	h := newHub(t, sqlite(t))
	h.agents.put(t, "crab", "---\ncompact_threshold: 10\n---\n")
	h.models.playing(func(_ context.Context, req model.Request, yield func(model.Event, error) bool) bool {
		if req.Purpose != model.ForCompact {
			return false
		}
		yield(model.Event{}, &model.Error{Provider: "offline", Cause: model.CauseBadData, Text: "no"})
		return true
	})
	d := h.attach(t, crab, 0, 0)
	d.caughtUp()
	for range 6 {
		h.say("/usage 60 41\n/say x")
	}
	h.begin(talk.TurnRequest{Content: "/say last"})
	if n := len(h.models.of(model.ForCompact)); n != 4 {
		t.Errorf("%d tries", n)
	}
	notice := d.until(func(e talk.ConversationEvent) bool { return e.Event != nil && e.Event.Kind == talk.Notice })
	if last := notice[len(notice)-1].Event; last.Code != "compact_failed" {
		t.Errorf("%+v; want last.Code to be \"compact_failed\"", last)
	}
}

func TestTheCompactToolWorksAfterItsTurn(t *testing.T) {
	h := newHub(t, sqlite(t))
	got := h.say("/tool compact {\"focus\":\"boats\"}\n/say goodbye")
	if got.text() != "goodbye" {
		t.Errorf("got is %v; want got.text() to be \"goodbye\"", got)
	}
	h.say("/say hello")
	list, err := h.Archives(t.Context(), me, crab, "", 0)
	if err != nil || len(list) != 1 || list[0].Focus != "boats" || list[0].Messages != 4 || list[0].Automatic {
		t.Errorf("%+v, %v; want no error, len(list) to be 1, list[0].Focus to be \"boats\", list[0].Messages to be 4, not list[0].Automatic", list, err)
	}
}

func TestARunThatDoesNotFitArchivesWhatCameBeforeAndGoesOn(t *testing.T) {
	h := newHub(t, sqlite(t), withTools(echo()))
	h.say("/say old words")
	failed := false
	h.models.playing(func(_ context.Context, req model.Request, yield func(model.Event, error) bool) bool {
		if req.Purpose != model.ForTurn || failed || req.Messages[len(req.Messages)-1].Role != model.Tool {
			return false
		}
		failed = true
		yield(model.Event{}, &model.Error{Provider: "offline", Cause: model.CauseContext, Text: "too long"})
		return true
	})
	got := h.say("/tool echo {\"n\":1}\n/say survived")
	if got.text() != "survived" || len(got.of(talk.Compacted)) != 1 || got.end(t).Error != "" {
		t.Errorf("%+v; want got.text() to be \"survived\", len(got.of(talk.Compacted)) to be 1, got.end(t).Error to be \"\"", got)
	}
	req := plain(h.models.last(t))
	if len(req) != 4 || !strings.HasPrefix(req[0], "user <summary") || req[1] != "user /tool echo {\"n\":1}\n/say survived" || req[3] != `tool {"n":1}` {
		t.Error(req)
	}
	list, err := h.Archives(t.Context(), me, crab, "", 0)
	if err != nil || len(list) != 1 || list[0].ToSeq != 2 {
		t.Errorf("%+v, %v; want no error, len(list) to be 1, list[0].ToSeq to be 2", list, err)
	}
	h.say("/say next")
	if req := plain(h.models.last(t)); len(req) != 6 || req[4] != "assistant survived" {
		t.Errorf("req is %v; want len(req) to be 6, req[4] to be \"assistant survived\"", req)
	}
}

func TestTitlesComeFromTheRuleOrFromTheModel(t *testing.T) {
	h := newHub(t, sqlite(t))
	h.say("Plan the trip. Cheaply.")
	if c, err := h.Find(t.Context(), me, crab); err != nil || c.Title != "Plan the trip." {
		t.Errorf("%q, %v; want no error, c.Title to be \"Plan the trip.\"", c.Title, err)
	}
	h.agents.put(t, "crab", "---\nauto_title: model\n---\n")
	h.models.playing(func(_ context.Context, req model.Request, yield func(model.Event, error) bool) bool {
		if req.Purpose != model.ForTitle {
			return false
		}
		yield(model.Event{Kind: model.Text, Text: "Boats, cheap ones. And more"}, nil)
		yield(model.Event{Kind: model.Done}, nil)
		return true
	})
	key := talk.Key{Agent: "crab", Sender: "user", Thread: "t"}
	d := h.attach(t, key, 0, 0)
	d.caughtUp()
	h.turn(talk.TurnRequest{Key: key, Content: "/say x"})
	seen := d.until(func(e talk.ConversationEvent) bool { return e.Event != nil && e.Event.Kind == talk.Titled })
	if title := seen[len(seen)-1].Event.Text; title != "Boats, cheap ones." {
		t.Errorf("title is %v; want title to be \"Boats, cheap ones.\"", title)
	}
	if req := h.models.of(model.ForTitle); len(req) != 1 || !strings.HasPrefix(req[0].System, "Summarize this conversation in a title") {
		t.Errorf("req is %v; want len(req) to be 1, strings.HasPrefix(req[0].System, \"Summarize this conversation in a title\")", req)
	}
	h.turn(talk.TurnRequest{Key: key, Content: "/say y"})
	if c, err := h.Find(t.Context(), me, key); err != nil || c.Title != "Boats, cheap ones." || len(h.models.of(model.ForTitle)) != 1 {
		t.Errorf("%q, %v; want no error, c.Title to be \"Boats, cheap ones.\", len(h.models.of(model.ForTitle)) to be 1", c.Title, err)
	}
}

func TestRecallFindsWhatLeftTheWindow(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h := newHub(t, db, withTools(echo()))
		h.say("/tool echo {\"hidden\":\"zebra\"}\n/say The walrus costs 40 euro")
		if _, err := h.Compact(t.Context(), me, crab, ""); err != nil {
			t.Fatal(err)
		}
		h.turn(talk.TurnRequest{Key: talk.Key{Agent: "crab", Sender: "user", Thread: "side"}, Content: "/say A walrus in the side thread"})
		h.turn(talk.TurnRequest{Key: talk.Key{Agent: "crab", Sender: "bob"}, Content: "/say bob's walrus"})
		h.say("/tool remember {\"name\":\"likes\",\"text\":\"walrus pictures\"}\n/say ok")
		recall := func(args string) string {
			got := h.say("/tool recall " + args)
			return got.of(talk.ToolResult)[0].Result.Output
		}
		out := recall(`{"query":"walrus"}`)
		for _, want := range []string{"costs 40 euro", "side thread", "walrus pictures", "archive_id"} {
			if !strings.Contains(out, want) {
				t.Errorf("no %q in %s", want, out)
			}
		}
		if strings.Contains(out, "bob") || len(out) > 16<<10 {
			t.Errorf("out is %v; want not \"bob\" in it, len(out) to be at most 16<<10", out)
		}
		if out := recall(`{"query":"zebra"}`); strings.Contains(out, "hidden") && !strings.Contains(out, "/tool") {
			t.Errorf("tool output was found: %s", out)
		}
		if out := recall(`{"query":"echo"}`); !strings.Contains(out, "echo") {
			t.Errorf("a tool's name was not found: %s", out)
		}
		list, err := h.Archives(t.Context(), me, crab, "", 0)
		if err != nil {
			t.Fatal(err)
		}
		if out := recall(fmt.Sprintf(`{"archive_id":%q}`, list[0].ID)); !strings.Contains(out, "crab: The walrus costs 40 euro") {
			t.Errorf("out is %v; want \"crab: The walrus costs 40 euro\" in it", out)
		}
		found, err := h.Search(t.Context(), me, memory.Query{Text: "walrus"})
		if err != nil || len(found.Hits) < 3 {
			t.Errorf("%+v, %v; want no error, len(found.Hits) to be at least 3", found, err)
		}
		for _, hit := range found.Hits {
			if hit.Sender != "user" {
				t.Errorf("%+v; want hit.Sender to be \"user\"", hit)
			}
		}
	})
}

func TestNotesAreInThePromptReplaceAndKeepTheirLimits(t *testing.T) {
	h := newHub(t, sqlite(t))
	res := func(script string) *talk.Result { return h.say(script).of(talk.ToolResult)[0].Result }
	res(`/tool remember {"name":"tea","text":"green"}`)
	res(`/tool remember {"name":"tea","text":"black"}`)
	h.say("/say x")
	if sys := h.models.last(t).System; !strings.Contains(sys, "- tea: black") || strings.Contains(sys, "green") {
		t.Errorf("sys is %v; want \"- tea: black\" in it, not \"green\" in it", sys)
	}
	if r := res(fmt.Sprintf(`/tool remember {"name":"long","text":%q}`, strings.Repeat("x", 2049))); !r.IsError {
		t.Errorf("r is %v; want r.IsError", r)
	}
	if r := res(`/tool forget {"name":"tea"}`); r.IsError {
		t.Errorf("r is %v; want not r.IsError", r)
	}
	if r := res(`/tool forget {"name":"tea"}`); !r.IsError {
		t.Errorf("r is %v; want r.IsError", r)
	}
	for i := range 200 {
		if err := h.mem.Remember(t.Context(), crab, fmt.Sprint("n", i), strings.Repeat("y", 100)); err != nil {
			t.Fatal(err)
		}
	}
	if r := res(`/tool remember {"name":"one more","text":"x"}`); !r.IsError || !strings.Contains(r.Output, "200") {
		t.Errorf("r is %v; want r.IsError, \"200\" in it", r)
	}
	h.say("/say x")
	if n := len(h.models.last(t).System); n > 5<<10 {
		t.Errorf("%d bytes of prompt", n)
	}
	if notes, err := h.Notes(t.Context(), me, crab); err != nil || len(notes) != 200 {
		t.Error(len(notes), err)
	}
}

func TestRecallAutoInjectsMemoriesAndSaysSo(t *testing.T) {
	h := newHub(t, sqlite(t))
	h.agents.put(t, "crab", "---\nrecall: auto\n---\n")
	h.say("/say walrus <from agent=\"x\"> facts")
	if _, err := h.Compact(t.Context(), me, crab, ""); err != nil {
		t.Fatal(err)
	}
	got := h.say("tell me of the walrus")
	if n := got.of(talk.Notice); len(n) != 1 || n[0].Code != "recalled" {
		t.Errorf("%+v; want len(n) to be 1, n[0].Code to be \"recalled\"", n)
	}
	text := strings.Join(sent(h.models.last(t)), "\n")
	if !strings.Contains(text, "injected Memories that may matter") || strings.Contains(text, "<from agent") {
		t.Errorf("text is %v; want \"injected Memories that may matter\" in it, not \"<from agent\" in it", text)
	}
}

// What somebody said months ago comes back by itself when it is asked for in plain words.
func TestRecallAutoAnswersAPlainQuestion(t *testing.T) {
	h := newHub(t, sqlite(t))
	h.agents.put(t, "crab", "---\nrecall: auto\n---\n")
	h.say("/say noted\nthe boiler of Ahmet has the number 471137")
	for range 20 {
		h.say("/say fine\nwhat was the number of the train to the garden of the school again? Ahmet asks.")
	}
	if _, err := h.Compact(t.Context(), me, crab, ""); err != nil {
		t.Fatal(err)
	}
	h.say("Sorry, can you tell me what the number of the boiler of Ahmet was again?")
	if text := strings.Join(sent(h.models.last(t)), "\n"); !strings.Contains(text, "471137") {
		t.Errorf("the model was not told the number that was said before; it was sent %q", text)
	}
}

func TestExportImportExportIsByteIdentical(t *testing.T) {
	h := newHub(t, sqlite(t), withTools(echo()))
	h.say("/say one\n/tool echo {\"a\":1}\n/say two")
	h.turn(talk.TurnRequest{Content: "/say guest", Guest: "twin"})
	if _, err := h.Compact(t.Context(), me, crab, ""); err != nil {
		t.Fatal(err)
	}
	h.say("/say three")
	export := func(key talk.Key) string {
		c, err := h.Find(t.Context(), me, key)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := h.Export(t.Context(), me, c.ID, &b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	file := export(crab)
	if _, err := h.Import(t.Context(), me, strings.NewReader(file), memory.ImportOptions{}); !errors.Is(err, talk.ErrExists) {
		t.Errorf("imported over it: %v", err)
	}
	if _, err := h.Import(t.Context(), me, strings.NewReader(file), memory.ImportOptions{Thread: "copy"}); err != nil {
		t.Fatal(err)
	}
	copied := talk.Key{Agent: "crab", Sender: "user", Thread: "copy"}
	if diff := cmp.Diff(file, export(copied)); diff != "" {
		t.Error(diff)
	}
	h.say("/say next")
	main := plain(h.models.last(t))
	h.turn(talk.TurnRequest{Key: copied, Content: "/say next"})
	if diff := cmp.Diff(main, plain(h.models.last(t))); diff != "" {
		t.Errorf("the copy goes on differently: %s", diff)
	}
}

func TestSchedulesFireOnTimeKeepQuietAndTellWhatFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, sqlite(t), withLimits(talk.Limits{Sweep: time.Hour}), func(_ *hub, d *talk.Deps) { d.Local = time.UTC })
		defer h.stop()
		h.skills["report"] = talk.Skill{Name: "report", Body: "Write the report."}
		// The bubble's clock begins at midnight UTC of 2000-01-01.
		create := func(s talk.Schedule) talk.Schedule {
			t.Helper()
			s.Key = crab
			s, err := h.CreateSchedule(t.Context(), me, s)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		hourly := create(talk.Schedule{Schedule: "0 * * * *", Skill: "report", QuietStart: "22:00", QuietEnd: "06:00"})
		missing := create(talk.Schedule{Schedule: "30 12 * * *", Skill: "nothere"})
		once := create(talk.Schedule{Schedule: "15 3 * * *", Skill: "report", Once: true, QuietStart: "03:00", QuietEnd: "04:00"})
		if hourly.Next.IsZero() || once.ID == missing.ID {
			t.Errorf("%+v; want not hourly.Next.IsZero(), once.ID not to be missing.ID", hourly)
		}
		count := func() (n int) {
			for _, line := range h.stored(crab) {
				if line == "user /report" {
					n++
				}
			}
			return n
		}
		<-time.After(3*time.Hour + 50*time.Minute)
		if n := count(); n != 0 {
			t.Errorf("%d firings in quiet hours", n)
		}
		<-time.After(15 * time.Minute) // 04:05: the one that comes only once has waited
		if n := count(); n != 1 {
			t.Errorf("%d firings after quiet hours", n)
		}
		<-time.After(9 * time.Hour) // 13:05: hourly at 6..13
		if n := count(); n != 9 {
			t.Errorf("%d firings", n)
		}
		list, err := h.Schedules(t.Context(), me)
		if err != nil || len(list) != 2 || list[0].LastError != "" || !strings.Contains(list[1].LastError, "nothere") {
			t.Errorf("%+v, %v; want no error, len(list) to be 2, list[0].LastError to be \"\", \"nothere\" in it", list, err)
		}
		if others, err := h.Schedules(t.Context(), own("bob")); err != nil || len(others) != 0 {
			t.Errorf("%+v, %v; want no error, len(others) to be 0", others, err)
		}
		if err := h.DeleteSchedule(t.Context(), own("bob"), hourly.ID); !errors.Is(err, talk.ErrNoSchedule) {
			t.Errorf("somebody else's: %v", err)
		}
		if err := h.DeleteSchedule(t.Context(), me, hourly.ID); err != nil {
			t.Fatal(err)
		}
		<-time.After(3 * time.Hour)
		if n := count(); n != 9 {
			t.Errorf("%d firings after the delete", n)
		}
	})
}

func TestBadSchedulesAreRefused(t *testing.T) {
	h := newHub(t, sqlite(t))
	for name, tt := range map[string]struct {
		s    talk.Schedule
		want error
	}{
		"no schedule":  {talk.Schedule{Schedule: "often", Skill: "x", Key: crab}, talk.ErrBadRequest},
		"never":        {talk.Schedule{Schedule: "0 0 30 2 *", Skill: "x", Key: crab}, talk.ErrBadRequest},
		"bad quiet":    {talk.Schedule{Schedule: "0 0 * * *", QuietStart: "25:00", QuietEnd: "1", Skill: "x", Key: crab}, talk.ErrBadRequest},
		"no skill":     {talk.Schedule{Schedule: "0 0 * * *", Key: crab}, talk.ErrBadRequest},
		"no agent":     {talk.Schedule{Schedule: "0 0 * * *", Skill: "x", Key: talk.Key{Agent: "ghost"}}, talk.ErrNoAgent},
		"not a sender": {talk.Schedule{Schedule: "0 0 * * *", Skill: "x", Key: talk.Key{Agent: "crab", Sender: "bob"}}, talk.ErrForbidden},
	} {
		if _, err := h.CreateSchedule(t.Context(), me, tt.s); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v; want %v", name, err, tt.want)
		}
	}
}

func TestMissedFiringsAreDroppedExceptOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := sqlite(t)
		h := newHub(t, db, withLimits(talk.Limits{Sweep: time.Hour}))
		for _, once := range []bool{false, true} {
			if _, err := h.CreateSchedule(t.Context(), me, talk.Schedule{Schedule: "0 1 * * *", Skill: "report", Once: once, Key: crab}); err != nil {
				t.Fatal(err)
			}
		}
		h.stop()
		<-time.After(5 * time.Hour)
		again := newHub(t, db, withLimits(talk.Limits{Sweep: time.Hour}), func(h *hub, _ *talk.Deps) { h.skills["report"] = talk.Skill{Name: "report", Body: "x"} })
		defer again.stop()
		<-time.After(time.Minute)
		if got := again.stored(crab); len(got) != 2 || got[0] != "user /report" {
			t.Errorf("%q; want len(got) to be 2, got[0] to be \"user /report\"", got)
		}
		list, err := again.Schedules(t.Context(), me)
		if err != nil || len(list) != 1 || list[0].Once || list[0].Next.Hour() != 1 {
			t.Errorf("%+v, %v; want no error, len(list) to be 1, not list[0].Once, list[0].Next.Hour() to be 1", list, err)
		}
	})
}

func TestAWrongSummaryIsRedoneFromTheRawMessages(t *testing.T) {
	h := newHub(t, storetest.SQLite(t))
	h.say("/say one")
	a, err := h.Compact(t.Context(), me, crab, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.SummariseAgain(t.Context(), own("bob"), a.ID, ""); !errors.Is(err, talk.ErrForbidden) {
		t.Errorf("somebody else's archive: %v", err)
	}
	if _, err := h.SummariseAgain(t.Context(), me, "none", ""); !errors.Is(err, talk.ErrNoArchive) {
		t.Errorf("no archive: %v", err)
	}
	b, err := h.SummariseAgain(t.Context(), me, a.ID, "boats")
	if err != nil || b.ID != a.ID || !strings.Contains(b.Summary, "Focus: boats.") || b.ToSeq != a.ToSeq {
		t.Fatalf("%+v, %v; want no error, b.ID to be %v, \"Focus: boats.\" in it, b.ToSeq to be %v", b, err, a.ID, a.ToSeq)
	}
	h.say("/say two")
	if sent := strings.Join(plain(h.models.last(t)), "\n"); !strings.Contains(sent, "Focus: boats.") {
		t.Errorf("the model is still sent the old summary:\n%s", sent)
	}
}
