package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"parley.internal/internal/bench/system"
)

// Options say what to measure and how.
type Options struct {
	// Rows are the names of the rows; none means all.
	Rows []string
	// List only names the rows.
	List bool
	// JSON prints for programs.
	JSON bool
	// Markdown prints for a document.
	Markdown bool
	// Quick uses smaller loads: seconds instead of minutes.
	Quick bool
	// Dir is where data is written; empty for the system's temporary folder. What
	// is measured is the disk below it.
	Dir string
	// Machines is how many the row fleet simulates; 0 is the usual number.
	Machines int
	// DB is a PostgreSQL server and NATS the servers of a cluster, for the row across;
	// a database of its own is made there and dropped.
	DB, NATS string
	// Profile, if not empty, is a folder where every server that is measured leaves
	// a CPU profile, and every row one of this program: its clients, and servers that
	// have no process of their own.
	Profile string
	// Child is the command line by which this program starts itself in a role; the
	// role and its arguments follow it. See RunRole.
	Child []string
}

// Report is everything one run found.
type Report struct {
	Started time.Time `json:"started_at"`
	Machine Machine   `json:"machine"`
	Quick   bool      `json:"quick"`
	Rows    []Found   `json:"rows"`
}

// Machine says where it was measured.
type Machine struct {
	System string `json:"system"`
	CPU    string `json:"cpu,omitempty"`
	Cores  int    `json:"cores"`
	Go     string `json:"go"`
	// Load is the system's load average when the run began: what else was running.
	Load string `json:"load,omitempty"`
}

// Found is what one row found.
type Found struct {
	Name    string  `json:"name"`
	What    string  `json:"what"`
	Seconds float64 `json:"seconds"`
	// Load is the load average when the row began.
	Load    string   `json:"load,omitempty"`
	Results []Result `json:"results"`
	Error   string   `json:"error,omitempty"`
	// notHere says that the error is no failure.
	notHere bool
}

// errNotHere says that this system does not tell what the row wants to know.
var errNotHere = errors.New("this system does not tell")

// missing is errNotHere with its own words: what would have to be there.
type missing string

func (m missing) Error() string { return string(m) }

// Is makes it an errNotHere.
func (missing) Is(target error) bool { return target == errNotHere }

// Run measures and prints: results to out, progress to remarks. A row that
// cannot be measured is reported and does not keep the others from running.
func Run(ctx context.Context, opts Options, out, remarks io.Writer) error {
	rows, err := choose(Rows(), opts.Rows)
	if err != nil {
		return err
	}
	if opts.List {
		return list(out, rows, opts.JSON)
	}
	report := Report{Started: time.Now().UTC().Truncate(time.Second), Machine: thisMachine(), Quick: opts.Quick}
	var failed []error
	for _, row := range rows {
		found := measure(ctx, row, opts, remarks)
		report.Rows = append(report.Rows, found)
		if found.Error != "" && !found.notHere {
			failed = append(failed, fmt.Errorf("%s: %s", row.Name, found.Error))
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if err := report.print(out, opts); err != nil {
		return err
	}
	return errors.Join(failed...)
}

// measure runs one row in a folder of its own.
func measure(ctx context.Context, row Row, opts Options, remarks io.Writer) (found Found) {
	found = Found{Name: row.Name, What: row.What, Load: loadNow(), Results: []Result{}}
	fmt.Fprintf(remarks, "%s: %s\n", row.Name, row.What)
	dir, err := os.MkdirTemp(opts.Dir, "parley-bench-*")
	if err != nil {
		found.Error = err.Error()
		return found
	}
	defer func() { _ = os.RemoveAll(dir) }()
	p := &system.Profile{Dir: opts.Profile, Name: "row-" + row.Name}
	if err := p.Begin(); err != nil {
		found.Error = err.Error()
		return found
	}
	defer p.End()
	started := time.Now()
	results, err := row.Run(ctx, &Env{Quick: opts.Quick, Dir: dir, machines: opts.Machines, db: opts.DB, nats: opts.NATS, profile: opts.Profile, child: opts.Child, remark: remarks})
	for i := range results {
		results[i].judge()
		found.Results = append(found.Results, results[i])
	}
	found.Seconds = time.Since(started).Seconds()
	if err != nil {
		found.Error, found.notHere = err.Error(), errors.Is(err, errNotHere)
	}
	return found
}

func list(out io.Writer, rows []Row, asJSON bool) error {
	if asJSON {
		found := make([]map[string]string, len(rows))
		for i, r := range rows {
			found[i] = map[string]string{"name": r.Name, "what": r.What}
		}
		return writeJSON(out, found)
	}
	for _, r := range rows {
		if _, err := fmt.Fprintf(out, "%-10s %s\n", r.Name, r.What); err != nil {
			return err
		}
	}
	return nil
}

func (r Report) print(out io.Writer, opts Options) error {
	switch {
	case opts.JSON:
		return writeJSON(out, r)
	case opts.Markdown:
		return r.markdown(out)
	default:
		return r.table(out)
	}
}

func writeJSON(out io.Writer, v any) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

func thisMachine() Machine {
	m := Machine{System: runtime.GOOS + "/" + runtime.GOARCH, Cores: runtime.NumCPU(), Go: runtime.Version()}
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(info)) {
			if name, ok := strings.CutPrefix(line, "model name"); ok {
				m.CPU = strings.TrimSpace(strings.TrimLeft(name, "\t: "))
				break
			}
		}
	}
	m.Load = loadNow()
	return m
}

// loadNow is the system's load average; empty where it does not tell.
func loadNow() string {
	load, err := os.ReadFile("/proc/loadavg")
	if words := strings.Fields(string(load)); err == nil && len(words) >= 3 {
		return strings.Join(words[:3], " ")
	}
	return ""
}
