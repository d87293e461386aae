//go:build linux

package box_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
)

// curl is a command that asks the way out for an address on this machine, which the settings of these tests allow.
func curl(t *testing.T, address string) string {
	t.Helper()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("install curl: it goes to the network from inside the box")
	}
	return fmt.Sprintf("curl -s --noproxy none -x \"$http_proxy\" %s", address)
}

func calls(commands ...string) string {
	var goal []string
	for _, c := range commands {
		args, _ := json.Marshal(map[string]string{"command": c})
		goal = append(goal, "/tool shell "+string(args))
	}
	return strings.Join(goal, "\n") + "\n/result"
}

// A command could send what it had read to anybody. Now the owner is asked about a host before
// anything is sent there, and once for all commands of the task if they like.
func TestANewHostIsOneQuestion(t *testing.T) {
	h := start(t, "net:\n  allow_private: [127.0.0.0/8]\n")
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "page "+r.URL.Path) }))
	defer site.Close()
	one, two := curl(t, site.URL+"/one"), curl(t, site.URL+"/two")

	task := h.submit(calls(one, two))
	h.answer(task, "shell", "/one", `{"approved":true}`)
	h.answer(task, "network", "127.0.0.1", `{"approved":true,"remember":"task"}`)
	h.answer(task, "shell", "/two", `{"approved":true}`)
	if out, _ := h.parley(h.thief, "task", "watch", task); !strings.Contains(out, "page /one") || !strings.Contains(out, "page /two") {
		t.Errorf("both pages were allowed by one yes: %s", out)
	}

	task = h.submit(calls(one))
	h.answer(task, "shell", "/one", `{"approved":true}`)
	h.answer(task, "network", "127.0.0.1", `{"approved":false,"reason":"not there"}`)
	if out, _ := h.parley(h.thief, "task", "watch", task); strings.Contains(out, "page /one") || !strings.Contains(out, "not there") {
		t.Errorf("the owner said no: %s", out)
	}
}

// Whatever the owner says yes to, the hub's own port and this machine's network stay outside.
func TestACommandCannotCallTheHub(t *testing.T) {
	h := start(t)
	_, port, err := net.SplitHostPort(strings.TrimPrefix(h.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{
		curl(t, h.URL+"/healthz"), "curl -s --noproxy '*' " + h.URL + "/healthz", curl(t, "http://localhost:"+port+"/healthz"), curl(t, "http://169.254.169.254/"),
	} {
		task := h.submit(calls(command))
		h.approve(task)
		out, _ := h.parley(h.thief, "task", "watch", task)
		if strings.Contains(out, `"status":"ok"`) || strings.Contains(out, `\"status\":\"ok\"`) || !strings.Contains(out, "exit_code") {
			t.Errorf("%s: %s; expected the hub not to be reached", command, out)
		}
	}
}
