//go:build unix

package consent_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley.internal/client/hubapi"
	"parley.internal/protocol/rest"
	"parley.internal/test/hubtest"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

const machineID, agentName = "pc", "operator"

// site is a hub with one real endpoint and an agent that may use it.
type site struct {
	*hubtest.Hub
	t      *testing.T
	folder string // where scripts leave their marks
	marks  int
}

func newSite(t *testing.T) *site {
	s := &site{Hub: hubtest.Start(t, hubtest.Config{}), t: t, folder: t.TempDir()}
	s.endpoint()
	if a := s.Do("POST", "/api/agents", `{"name":"`+agentName+`","description":"d","prompt":"p","tools":["machines"]}`); a.Status > 299 {
		t.Fatalf("the agent could not be made: %d %s", a.Status, a.Body)
	}
	if a := s.Do("PATCH", "/api/machines/"+machineID, `{"tags":["lab"]}`); a.Status != http.StatusOK {
		t.Fatalf("the machine could not be tagged: %d %s", a.Status, a.Body)
	}
	return s
}

// endpoint runs the real program on this machine.
func (s *site) endpoint() {
	s.t.Helper()
	minted, err := hubapi.Call(s.t.Context(), s.Client(), rest.MachineToken, rest.EnrolRequest{ID: machineID})
	if err != nil {
		s.t.Fatal(err)
	}
	said := &hubtest.Output{}
	cmd := hubtest.Command(s.t, "endpoint", "run", "--state", filepath.Join(s.folder, "state"), "--url", s.URL, "--id", machineID, "--token", minted.Token, "--server-key", minted.ServerPublicKey)
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if s.t.Failed() {
			s.t.Logf("the endpoint said:\n%s", said)
		}
	})
	hubtest.Eventually(s.t, "the endpoint is connected", func() bool {
		m, err := hubapi.Call(s.t.Context(), s.Client(), rest.GetMachine, rest.ByID{ID: machineID})
		return err == nil && m.Online
	})
}

// mark is a file that a script makes, once it runs.
func (s *site) mark() (file, script string) {
	s.marks++
	file = filepath.Join(s.folder, fmt.Sprint("mark-", s.marks))
	return file, "touch " + file
}

func there(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

type question struct {
	ID          string          `json:"id"`
	Tool        string          `json:"tool"`
	Arguments   json.RawMessage `json:"arguments"`
	RequestedBy string          `json:"requested_by"`
}

// asked are the questions about machines that wait.
func (s *site) asked() []question {
	s.t.Helper()
	var list struct {
		Approvals []question `json:"approvals"`
	}
	if a := s.Do("GET", "/api/approvals", ""); a.Status != http.StatusOK || json.Unmarshal(a.Body, &list) != nil {
		s.t.Fatalf("the inbox: %d %s", a.Status, a.Body)
	}
	var out []question
	for _, q := range list.Approvals {
		if q.Tool == "shell_exec" {
			out = append(out, q)
		}
	}
	return out
}

// theQuestion waits for the one question, which shows the script.
func (s *site) theQuestion(way, script string) question {
	s.t.Helper()
	var open []question
	hubtest.Eventually(s.t, way+": a question waits", func() bool { open = s.asked(); return len(open) > 0 })
	if len(open) != 1 || !strings.Contains(string(open[0].Arguments), script) {
		s.t.Fatalf("%s: asked %+v, want one question about %q", way, open, script)
	}
	return open[0]
}

func (s *site) answer(token, id string, yes bool) hubtest.Answer {
	return s.As(token, "POST", "/api/approvals/"+id, fmt.Sprintf(`{"approved":%t}`, yes))
}

// way runs a script on the machine with a token and returns when it is over, one way
// or the other.
type way func(s *site, token, script string) string

func body(script string) string {
	return `{"tool":"shell_exec","args":{"script":` + quoted(script) + `}}`
}

func quoted(text string) string {
	raw, _ := json.Marshal(text) // a string: cannot fail
	return string(raw)
}

// overREST calls and, where it must, looks again until the call is over.
func overREST(path, body string) func(s *site, token string) string {
	return func(s *site, token string) string {
		a := s.As(token, "POST", path, body)
		var asked struct {
			State      string `json:"state"`
			Code       string `json:"code"`
			CallID     string `json:"call_id"`
			ApprovalID string `json:"approval_id"`
		}
		_ = json.Unmarshal(a.Body, &asked)
		if a.Status != http.StatusAccepted {
			return string(a.Body)
		}
		if asked.State != "asking" || asked.Code != "approval_pending" || asked.CallID == "" || asked.ApprovalID == "" {
			s.t.Errorf("202 without what it waits for: %s", a.Body)
		}
		for {
			now := s.As(token, "GET", "/api/fleet/calls/"+asked.CallID, "")
			var st struct {
				State string `json:"state"`
			}
			if now.Status != http.StatusOK || json.Unmarshal(now.Body, &st) != nil || st.State != "asking" && st.State != "sent" {
				return string(now.Body)
			}
		}
	}
}

func (s *site) command(token string, args ...string) string {
	cmd := hubtest.Command(s.t, args...)
	cmd.Env = append(cmd.Env, "PARLEY_HUB="+s.URL, "PARLEY_TOKEN="+token)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		fmt.Fprintf(&said, "(%v)", err)
	}
	return said.String()
}

func (s *site) overMCP(token, tool string, args map[string]any) string {
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	session, err := client.Connect(s.t.Context(), &sdk.StreamableClientTransport{
		Endpoint: s.URL + "/mcp", HTTPClient: &http.Client{Transport: bearer{transport, token}}, DisableStandaloneSSE: true,
	}, nil)
	if err != nil {
		s.t.Error(err)
		return err.Error()
	}
	defer func() { _ = session.Close() }()
	res, err := session.CallTool(s.t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return err.Error()
	}
	raw, _ := json.Marshal(res) // what was just decoded
	return string(raw)
}

type bearer struct {
	http.RoundTripper
	token string
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.RoundTripper.RoundTrip(r)
}

// toolWords make the offline model call the tool.
func toolWords(script string) string {
	return `/tool shell_exec {"agent_id":"` + machineID + `","script":` + quoted(script) + `}`
}

var ways = map[string]way{
	"REST": func(s *site, token, script string) string {
		return overREST("/api/machines/"+machineID+"/calls", strings.TrimSuffix(body(script), "}")+`,"approval_wait_s":0}`)(s, token)
	},
	"REST that waits": func(s *site, token, script string) string {
		return overREST("/api/machines/"+machineID+"/calls", body(script))(s, token)
	},
	"fan-out": func(s *site, token, script string) string {
		return overREST("/api/fleet/calls", strings.TrimSuffix(body(script), "}")+`,"all":true,"approval_wait_s":0}`)(s, token)
	},
	"command line": func(s *site, token, script string) string {
		return s.command(token, "machine", "call", machineID, "shell_exec", "script="+script, "--yes")
	},
	"command line, many": func(s *site, token, script string) string {
		return s.command(token, "machine", "call", "ALL", "shell_exec", "script="+script, "--tag", "lab", "--yes")
	},
	"MCP": func(s *site, token, script string) string {
		return s.overMCP(token, "shell_exec", map[string]any{"agent_id": machineID, "script": script})
	},
	"conversation": func(s *site, token, script string) string {
		return s.command(token, "chat", agentName, "--thread", fmt.Sprint("t", s.marks), "-m", toolWords(script))
	},
	"task": func(s *site, token, script string) string {
		return s.command(token, "task", "submit", toolWords(script), "--agent", agentName, "--watch")
	},
}

// start runs a way beside the test: over waits for its end and tells what it said,
// ended only looks.
func (s *site) start(w way, token, script string) (over func() string, ended func() bool) {
	said := make(chan string, 1)
	go func() { said <- w(s, token, script) }()
	return func() string { return <-said }, func() bool { return len(said) > 0 }
}
