package natstest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience is how long a server may take to be ready; only a broken one takes that long.
const patience = 60 * time.Second

// Node is one server process. Its methods fail the test on error and are called from the test's goroutine.
type Node struct {
	t      testing.TB
	port   int
	config string
	log    string

	mu  sync.Mutex
	cmd *exec.Cmd
}

// Run starts one server. Each setting is a line of its configuration file.
func Run(t testing.TB, settings ...string) *Node {
	t.Helper()
	n := newNode(t, "solo", freePorts(t, 1)[0], settings)
	n.Restart()
	return n
}

// Cluster starts size servers and returns when each knows all others.
func Cluster(t testing.TB, size int) []*Node {
	t.Helper()
	ports := freePorts(t, 2*size)
	routes := make([]string, size)
	for i := range routes {
		routes[i] = fmt.Sprintf("nats://127.0.0.1:%d", ports[size+i])
	}
	nodes := make([]*Node, size)
	for i := range nodes {
		cluster := fmt.Sprintf("cluster { name: test, listen: \"127.0.0.1:%d\", routes: [%s] }",
			ports[size+i], strings.Join(routes, ", "))
		nodes[i] = newNode(t, fmt.Sprintf("node%d", i), ports[i], []string{cluster})
		nodes[i].start()
	}
	for _, n := range nodes {
		n.awaitReady(size)
	}
	return nodes
}

func newNode(t testing.TB, name string, port int, settings []string) *Node {
	t.Helper()
	dir := t.TempDir()
	n := &Node{t: t, port: port, config: filepath.Join(dir, name+".conf"), log: filepath.Join(dir, name+".log")}
	text := fmt.Sprintf("server_name: %s\nlisten: \"127.0.0.1:%d\"\n%s\n", name, port, strings.Join(settings, "\n"))
	if err := os.WriteFile(n.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Kill)
	return n
}

// URL is where clients connect.
func (n *Node) URL() string { return "nats://" + n.address() }

func (n *Node) address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(n.port)) }

// Kill ends the process without warning. A dead one stays dead.
func (n *Node) Kill() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cmd == nil {
		return
	}
	_ = n.cmd.Process.Kill()
	_ = n.cmd.Wait() // always "killed"
	n.cmd = nil
}

// Restart starts the process, after killing one that runs, and returns when clients are served.
func (n *Node) Restart() {
	n.t.Helper()
	n.Kill()
	n.start()
	n.awaitReady(1)
}

func (n *Node) start() {
	n.t.Helper()
	path, err := program()
	if err != nil {
		n.t.Fatal(err)
	}
	out, err := os.OpenFile(n.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		n.t.Fatal(err)
	}
	defer out.Close()
	cmd := exec.Command(path, "-c", n.config)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = dieWithParent()
	if err := cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
	n.mu.Lock()
	n.cmd = cmd
	n.mu.Unlock()
}

// awaitReady returns when the server greets clients and knows the addresses of that many servers.
func (n *Node) awaitReady(servers int) {
	n.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for {
		known, err := n.greeting()
		if err == nil && known >= servers {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			text, _ := os.ReadFile(n.log)
			n.t.Fatalf("natstest: %s knows %d of %d servers: %v\n%s", n.address(), known, servers, err, text)
		}
	}
}

// greeting reads the INFO line every server opens with.
func (n *Node) greeting() (servers int, err error) {
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(context.Background(), "tcp", n.address())
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return 0, err
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return 0, err
	}
	var info struct {
		ConnectURLs []string `json:"connect_urls"`
	}
	if err := json.Unmarshal([]byte(strings.TrimPrefix(line, "INFO ")), &info); err != nil {
		return 0, err
	}
	return max(1, len(info.ConnectURLs)), nil
}

// freePorts holds all of them open until it has enough, so that they differ. They are
// below what systems give to outgoing connections: nobody takes one by chance between
// its closing here and the server's listening.
func freePorts(t testing.TB, n int) []int {
	t.Helper()
	ports := make([]int, 0, n)
	for range 1000 {
		if len(ports) == n {
			return ports
		}
		port := 12_000 + rand.IntN(20_000)
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			continue
		}
		defer l.Close()
		ports = append(ports, port)
	}
	t.Fatal("no free ports")
	return nil
}
