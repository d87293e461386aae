package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"parley.internal/internal/bench/role"
)

// asRole is how the test's own program is started as a child of a row.
const asRole = "bench-role"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == asRole {
		if err := RunRole(context.Background(), os.Args[2:], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func TestFiguresAreWrittenTheWayPeopleReadThem(t *testing.T) {
	for _, c := range []struct {
		f    Figure
		want string
	}{
		{Figure{1234567.4, PerSecond}, "1,234,567/s"},
		{Figure{999.6, PerSecond}, "1,000/s"},
		{Figure{12.34, PerSecond}, "12.3/s"},
		{Figure{0, PerSecond}, "0.0/s"},
		{Figure{512, Bytes}, "512 B"},
		{Figure{17.25 * 1024, Bytes}, "17.2 KiB"},
		{Figure{1 << 30, Bytes}, "1 GiB"},
		{Figure{4100, Nanos}, "4.1 µs"},
		{Figure{300e6, Nanos}, "300 ms"},
		{Figure{2.5e9, Nanos}, "2.5 s"},
		{Figure{-5, Nanos}, "-5 ns"},
	} {
		if got := c.f.String(); got != c.want {
			t.Errorf("%v %s: %q, want %q", c.f.Value, c.f.Unit, got, c.want)
		}
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -1234567: "-1,234,567"} {
		if got := thousands(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
	if one, more := count(1, "stream"), count(2000, "stream"); one != "1 stream" || more != "2,000 streams" {
		t.Errorf("%q, %q; want one to be \"1 stream\", more to be \"2,000 streams\"", one, more)
	}
}

func TestBarsShowTheShare(t *testing.T) {
	for share, want := range map[float64]string{
		0: strings.Repeat("░", 20) + " ", 0.5: strings.Repeat("█", 10) + strings.Repeat("░", 10) + " ",
		1: strings.Repeat("█", 20) + " ", 7: strings.Repeat("█", 20) + "▶", -1: strings.Repeat("░", 20) + " ",
	} {
		if got := bar(share); got != want {
			t.Errorf("%v: %q; want %v", share, got, want)
		}
	}
}

func TestRatioIsOursOverTheLimitAndIsJudgedByTheTarget(t *testing.T) {
	half := compare("x", rate(500, time.Second), rate(1000, time.Second), 0.5)
	half.judge()
	if half.Ratio != 0.5 || half.Met == nil || !*half.Met {
		t.Errorf("%+v; want half.Ratio to be 0.5, half.Met not to be nil, *half.Met", half)
	}
	less := compare("x", rate(499, time.Second), rate(1000, time.Second), 0.5)
	less.judge()
	if *less.Met {
		t.Errorf("%+v", less)
	}
	large := atMost("x", Figure{21, Bytes}, 20)
	large.judge()
	if *large.Met {
		t.Errorf("%+v", large)
	}
	free := atMost("x", Figure{21, Bytes}, 0)
	free.judge()
	if free.Met != nil {
		t.Errorf("%+v; want free.Met to be nil", free)
	}
	if none := compare("x", rate(1, time.Second), Figure{0, PerSecond}, 0); none.Ratio != 0 {
		t.Errorf("%+v; want none.Ratio to be 0", none)
	}
}

func TestGrowthIsTheCostOfOneAgainstTheFirstStep(t *testing.T) {
	steps := []Result{{Ours: Figure{1000, PerSecond}}, {Ours: Figure{500, PerSecond}}}
	grow(steps, perOp(steps))
	if steps[0].Growth != 1 || steps[1].Growth != 2 {
		t.Errorf("rates: %v, %v", steps[0].Growth, steps[1].Growth)
	}
	// CPU time counts more than time on the clock.
	steps[0].cost, steps[1].cost = 10, 11
	grow(steps, perOp(steps))
	if steps[1].Growth != 1.1 {
		t.Errorf("CPU: %v", steps[1].Growth)
	}
	grow(nil, perOp(nil))
}

func TestTheTableIsAligned(t *testing.T) {
	yes, no := true, false
	r := Report{
		Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Machine: Machine{System: "linux/amd64", Cores: 2, Go: "go1.26", Load: "1 2 3"},
		Rows: []Found{
			{Name: "echo", What: "there and back", Seconds: 12, Results: []Result{
				{Case: "1 connection", Ours: Figure{750, PerSecond}, Limit: &Figure{1000, PerSecond}, Ratio: .75, Target: Target{Ratio: .5}, Met: &yes, Growth: 1, Note: "a note"},
			}},
			{Name: "idle", What: "memory", Error: "not here", Results: []Result{{Case: "many", Ours: Figure{40960, Bytes}, Target: Target{Most: 20480}, Met: &no}}},
		},
	}
	var out strings.Builder
	if err := r.print(&out, Options{}); err != nil {
		t.Fatal(err)
	}
	want := `linux/amd64, 2 cores, go1.26, load 1 2 3, 2026-01-02 03:04:05 UTC

echo: there and back (12 s)
  CASE          OURS    LIMIT    RATIO                         TARGET            GROWTH
  1 connection  750/s   1,000/s  0.75   ███████████████░░░░░   ≥ 0.5     ok      ×1.00
    a note

idle: memory (0 s)
  CASE          OURS    LIMIT    RATIO                         TARGET            GROWTH
  many          40 KiB  –        –      ████████████████████▶  ≤ 20 KiB  MISSED
  NOT MEASURED: not here
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestRowsHaveNamesOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Rows() {
		if r.Name == "" || r.What == "" || r.Run == nil || seen[r.Name] {
			t.Errorf("bad row %q", r.Name)
		}
		seen[r.Name] = true
	}
}

func TestAnUnknownRowIsAnErrorThatNamesTheOthers(t *testing.T) {
	err := Run(t.Context(), Options{Rows: []string{"echoes"}}, io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), `"echoes"`) || !strings.Contains(err.Error(), "echo, board, fanout") {
		t.Errorf("got %v", err)
	}
}

func TestListNamesEveryRow(t *testing.T) {
	var people, programs bytes.Buffer
	if err := errors.Join(
		Run(t.Context(), Options{List: true}, &people, io.Discard), Run(t.Context(), Options{List: true, JSON: true}, &programs, io.Discard),
	); err != nil {
		t.Fatal(err)
	}
	var parsed []struct{ Name, What string }
	if err := json.Unmarshal(programs.Bytes(), &parsed); err != nil {
		t.Fatal(err)
	}
	for i, r := range Rows() {
		if !strings.Contains(people.String(), r.Name) || parsed[i].Name != r.Name || parsed[i].What != r.What {
			t.Errorf("%s is missing", r.Name)
		}
	}
}

func TestARowThatFailsKeepsItsResultsAndIsNamed(t *testing.T) {
	row := Row{Name: "bad", What: "fails", Run: func(context.Context, *Env) ([]Result, error) {
		return []Result{atMost("half", Figure{1, Nanos}, 2)}, errors.New("no more")
	}}
	found := measure(t.Context(), row, Options{Dir: t.TempDir()}, io.Discard)
	if found.Error != "no more" || len(found.Results) != 1 || found.Results[0].Met == nil {
		t.Errorf("%+v; want found.Error to be \"no more\", len(found.Results) to be 1, found.Results[0].Met not to be nil", found)
	}
}

func TestAnUnknownRoleIsRefused(t *testing.T) {
	for _, args := range [][]string{nil, {"nonsense"}} {
		if err := RunRole(t.Context(), args, strings.NewReader(""), io.Discard); err == nil {
			t.Errorf("%v was accepted", args)
		}
	}
}

func TestARoleSaysWhereItIsAndAnswersUntilItsInputEnds(t *testing.T) {
	for _, args := range [][]string{{"tcp-echo"}, {"ws-echo", "tls", "1s"}, {"tcp-fan"}, {"ws-fan"}, {"hub", t.TempDir() + "/data"}} {
		t.Run(args[0], func(t *testing.T) {
			var out bytes.Buffer
			if err := RunRole(t.Context(), args, strings.NewReader("usage\nround\nsettle\n"), &out); err != nil {
				t.Fatal(err)
			}
			var first role.Hello
			var before, after role.Usage
			dec := json.NewDecoder(&out)
			if err := errors.Join(dec.Decode(&first), dec.Decode(&before), dec.Decode(&after)); err != nil {
				t.Fatal(err)
			}
			if first.Addr == "" || first.Error != "" || after.CPU < before.CPU {
				t.Errorf("%+v %+v %+v; want first.Addr not to be \"\", first.Error to be \"\", after.CPU to be at least before.CPU", first, before, after)
			}
		})
	}
}

func TestPublishedTablesAreWhatARunPrinted(t *testing.T) {
	no, yes := false, true
	limit := Figure{100, PerSecond}
	report := Report{Machine: Machine{System: "linux/amd64", Cores: 2, CPU: "a|b", Go: "go1"}, Rows: []Found{
		{Name: "relay", What: "sends", Load: "0.1 0.2 0.3", Seconds: 7, Results: []Result{
			{Case: "1 | 2", Ours: Figure{50, PerSecond}, Limit: &limit, Ratio: 0.5, Target: Target{Ratio: 0.7}, Met: &no, Note: "slow"},
			{Case: "size", Ours: Figure{512, Bytes}, Target: Target{Most: 1024}, Met: &yes, Growth: 1.5},
		}},
		{Name: "across", What: "hubs", Error: "no server"},
	}}
	var out bytes.Buffer
	if err := report.print(&out, Options{Markdown: true}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"### `relay`: sends", "Load average at its start 0.1 0.2 0.3, 7 s.",
		`| 1 \| 2 | 50.0/s | 100/s | 0.50 | ▇▇▇▇▇▇▇▇▇▇░░░░░░░░░░ | ≥ 0.7 | **missed** |  | slow |`,
		"| size | 512 B | – | – | ▇▇▇▇▇▇▇▇▇▇░░░░░░░░░░ | ≤ 1 KiB | ok | ×1.50 |  |",
		"### `across`: hubs\n\n\nNot measured: no server",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}
