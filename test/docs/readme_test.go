package docs_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"parley.internal/test/hubtest"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

// expected is what each line of the README's first quarter of an hour shows. A line
// without a row here, and a row without its line, fail the test.
var expected = map[string]string{
	`parley chat parley -m "/say Good morning. I am here."`: `Good morning\. I am here\.`,
	`parley chat parley`:                                             `I sat down\.`,
	`parley conversation search morning`:                             `Good morning`,
	`parley task submit '/tool shell {"command":"touch hello.txt"}'`: `[0-9a-f]{8}`,
	`parley approvals list`:                                          `touch hello\.txt`,
	`parley approvals approve ID`:                                    `approved`,
	`parley task list`:                                               `completed`,
	`parley machine list`:                                            `(?m)^\S+ +.*online`,
	`parley machine call $(hostname) fs_disk_usage`:                  `total`,
	`parley room open table --title "The round table" --demo cards`:  `https?://\S+`,
	`parley place post offer_skill Tea "How to brew it"`:             `[0-9a-f]{8}`,
	`parley place board`:                                             `Tea`,
	`parley place check http://127.0.0.1:7788`:                       `PASS`,
}

// The README's first quarter of an hour, as it is printed, on a fresh folder.
func TestTheFirstQuarterOfAnHour(t *testing.T) {
	h := hubtest.Start(t, hubtest.Config{Command: "up"})
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	walk := &walk{t: t, hub: h, host: host, left: maps.Clone(expected)}
	text, err := os.ReadFile(filepath.Join(top, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, hour, _ := strings.Cut(string(text), "## A first quarter of an hour")
	for _, block := range regexp.MustCompile("(?ms)^```sh\n(.*?)^```$").FindAllStringSubmatch(hour, -1) {
		for line := range strings.Lines(block[1]) {
			walk.step(strings.TrimSpace(regexp.MustCompile(`\s+# .*`).ReplaceAllString(line, "")))
		}
	}
	for line := range walk.left {
		t.Errorf("the README has no line %q any more", line)
	}
}

// walk is somebody who types what the README says.
type walk struct {
	t    *testing.T
	hub  *hubtest.Hub
	host string
	left map[string]string
}

func (w *walk) step(line string) {
	w.t.Helper()
	want, ok := w.left[line]
	if !ok {
		w.t.Errorf("nothing says what %q shows", line)
		return
	}
	delete(w.left, line)
	w.until(line)
	out := w.run(w.filled(line))
	if !regexp.MustCompile(want).MatchString(out) {
		w.t.Errorf("%s\nshows:\n%s\nwanted something like %s", line, out, want)
	}
}

// filled puts in what a person would put in: the id they see, the address they were given.
func (w *walk) filled(line string) string {
	if strings.HasSuffix(line, " ID") {
		// A busy machine may have something to say in the inbox as well.
		id := regexp.MustCompile(`(?m)^(\S+) .*touch hello\.txt`).FindStringSubmatch(w.run("parley approvals list"))
		if id == nil {
			w.t.Fatal("the task's question does not wait")
		}
		line = strings.TrimSuffix(line, "ID") + id[1]
	}
	return strings.ReplaceAll(line, "http://127.0.0.1:7788", w.hub.URL)
}

// until waits for what a person would see happen before they type the line.
func (w *walk) until(line string) {
	w.t.Helper()
	shows := func(command, text string) {
		hubtest.Eventually(w.t, command+" shows "+text, func() bool { return strings.Contains(w.run(command), text) })
	}
	switch line {
	case "parley approvals list":
		shows(line, "touch hello.txt")
	case "parley task list":
		shows(line, "completed")
	case "parley machine list":
		shows(line, "online")
	}
}

func (w *walk) run(line string) string {
	w.t.Helper()
	env := hubtest.Command(w.t).Env
	cmd := exec.Command("bash", "-c", line)
	if line == "parley chat parley" {
		cmd.Stdin = strings.NewReader("/say I sat down.") // what the person types then
	}
	cmd.Env = append(env, "PATH="+filepath.Dir(hubtest.Program(w.t))+":"+os.Getenv("PATH"), "PARLEY_DATA="+w.hub.Path(""), "HOME="+w.t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Errorf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}
