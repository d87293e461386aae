package bench

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"parley.internal/internal/bench/role"
	"parley.internal/internal/bench/system"
	"parley.internal/internal/hub/config"
)

// boardRow: the whole hub's /ws, not just the connection: envelope, login, rates,
// answer. Then what such a connection costs that only listens.
func boardRow() Row {
	return Row{Name: "board", What: "small JSON request → response on logged-in boards of a whole hub, against raw TCP; memory of idle ones", Run: runBoard}
}

func runBoard(ctx context.Context, env *Env) ([]Result, error) {
	dir, err := os.MkdirTemp(env.Dir, "board-*")
	if err != nil {
		return nil, err
	}
	var results []Result
	for _, n := range env.affordable(pick(env, []int{10, 100, 1_000}, []int{5, 20}), 2) {
		r, err := boardEcho(ctx, env, filepath.Join(dir, fmt.Sprint("echo-", n)), n)
		if err != nil {
			return results, err
		}
		if n == 1_000 {
			r.Target.Ratio = 0.5
		}
		results = append(results, r)
	}
	grow(results, perOp(results))
	idle, err := boardIdle(ctx, env, filepath.Join(dir, "idle"))
	return append(results, idle...), err
}

// unlimited takes away what would hide what lies behind it: the bounds of one
// address, from which all of these connections come.
var unlimited = []string{
	"PARLEY_BOARD_LIMITS_MAX_CONNECTIONS=1000000", "PARLEY_BOARD_LIMITS_MAX_UNAUTHENTICATED=1000000",
	"PARLEY_BOARD_LIMITS_MESSAGES_PER_SECOND=100000000", "PARLEY_BOARD_LIMITS_AUTH_PER_MINUTE=100000000",
}

// boardHub is the role: a whole hub whose boards are not limited. Argument: a folder.
func boardHub(ctx context.Context, args []string) (*role.Server, error) {
	conf, err := config.Load(config.Sources{
		Data: args[0], Environ: unlimited, Flags: map[string]string{"listen": "127.0.0.1:0", "shutdown-grace": "1s", "model": "offline"},
	})
	if err != nil {
		return nil, err
	}
	return runHub(ctx, conf)
}

func boardEcho(ctx context.Context, env *Env, data string, n int) (r Result, err error) {
	env.say("%s", count(n, "board"))
	raw := &side{message: clientFrame(1, request), answer: len(clientFrame(1, request))}
	ours := &side{message: raw.message}
	defer raw.close()
	defer ours.close()
	if err := raw.open(ctx, env, n, "tcp-echo"); err != nil {
		return r, err
	}
	if ours.Child, err = env.start(ctx, "board", data); err != nil {
		return r, err
	}
	if ours.conns, ours.answer, err = dialBoards(ctx, ours.Child, data, n); err != nil {
		return r, err
	}
	for range pick(env, 6, 2) {
		for _, s := range []*side{raw, ours} {
			if err := s.slice(pick(env, 700*time.Millisecond, 100*time.Millisecond)); err != nil {
				return r, err
			}
		}
	}
	r = compare(count(n, "board"), rate(float64(ours.ops), ours.spent), rate(float64(raw.ops), raw.spent), 0)
	r.account(ours, raw, "answer")
	return r, nil
}

func boardIdle(ctx context.Context, env *Env, data string) (results []Result, err error) {
	if system.ResidentMemory() == 0 {
		return nil, nil // not measured on this system; the row idle says so
	}
	c, err := env.start(ctx, "board", data)
	if err != nil {
		return nil, err
	}
	defer c.Stop()
	var conns []net.Conn
	defer func() { hangUp(conns) }()
	add := func(n int) error {
		more, _, err := dialBoards(ctx, c, data, n)
		conns = append(conns, more...)
		return err
	}
	// The first ones pay for what all share.
	if err := add(50); err != nil {
		return nil, err
	}
	before, err := c.Usage(true)
	if err != nil {
		return nil, err
	}
	for _, n := range env.affordable(pick(env, []int{1_000, 5_000}, []int{100}), 1) {
		if err := add(n + 50 - len(conns)); err != nil {
			return results, err
		}
		after, err := c.Usage(true)
		if err != nil {
			return results, err
		}
		r := atMost("idle, "+count(n, "board"), Figure{float64(after.RSS-before.RSS) / float64(n), Bytes}, idlePlainMost)
		results = append(results, r)
	}
	return results, nil
}

// dialBoards opens connections of the hub's owner, uses each once, and tells how
// long an answer to a ping is.
func dialBoards(ctx context.Context, c *role.Child, data string, n int) ([]net.Conn, int, error) {
	token, err := os.ReadFile(filepath.Join(data, "owner.token"))
	if err != nil {
		return nil, 0, err
	}
	auth, err := json.Marshal(map[string]any{"type": "connection:auth", "id": "a", "payload": map[string]any{
		"device_id": "bench", "token": strings.TrimSpace(string(token)), "role": "operator", "scopes": []string{"task:read", "approval:read"},
	}})
	if err != nil {
		return nil, 0, err
	}
	size := 0
	conns, err := dialAll(ctx, n, func(ctx context.Context) (net.Conn, error) {
		return dialBoard(ctx, strings.TrimPrefix(c.Hello.Addr, "http://"), auth)
	})
	if err != nil {
		return nil, 0, err
	}
	for _, conn := range conns {
		if _, err := conn.Write(clientFrame(1, request)); err != nil {
			return conns, 0, err
		}
		answer, err := serverFrame(conn)
		if err != nil {
			return conns, 0, err
		}
		if !bytes.Contains(answer, []byte(`"pong"`)) {
			return conns, 0, fmt.Errorf("the hub answered %s", answer)
		}
		size = len(answer) + 4 // a header with a longer length
	}
	return conns, size, nil
}

// dialBoard shakes hands, hears the welcome and logs in.
func dialBoard(ctx context.Context, addr string, auth []byte) (net.Conn, error) {
	c, err := dialTCP(addr)(ctx)
	if err != nil {
		return nil, err
	}
	frame := append([]byte{0x81, 0x80 | 126, byte(len(auth) >> 8), byte(len(auth)), 0, 0, 0, 0}, auth...)
	err = func() error {
		if _, err := io.WriteString(c, handshake); err != nil {
			return err
		}
		if err := skipHead(c); err != nil {
			return err
		}
		if _, err := serverFrame(c); err != nil {
			return err
		}
		if _, err := c.Write(frame); err != nil {
			return err
		}
		answer, err := serverFrame(c)
		if err == nil && !bytes.Contains(answer, []byte("connection:authenticated")) {
			err = fmt.Errorf("not let in: %s", answer)
		}
		return err
	}()
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// skipHead reads the answer to the handshake and not a byte more: the welcome
// comes right behind it.
func skipHead(c net.Conn) error {
	var head []byte
	one := make([]byte, 1)
	for !bytes.HasSuffix(head, []byte("\r\n\r\n")) {
		if _, err := c.Read(one); err != nil {
			return err
		}
		if head = append(head, one[0]); len(head) > 8<<10 {
			return errors.New("no end of the handshake's answer")
		}
	}
	if !bytes.HasPrefix(head, []byte("HTTP/1.1 101")) {
		return fmt.Errorf("no WebSocket: %.60s", head)
	}
	return nil
}

// serverFrame reads one small frame of a server; pings are passed over.
func serverFrame(c net.Conn) ([]byte, error) {
	for {
		head := make([]byte, 2, 4)
		if _, err := io.ReadFull(c, head); err != nil {
			return nil, err
		}
		n := int(head[1])
		if n == 126 {
			if _, err := io.ReadFull(c, head[2:4]); err != nil {
				return nil, err
			}
			n = int(binary.BigEndian.Uint16(head[2:4]))
		}
		data := make([]byte, n)
		if _, err := io.ReadFull(c, data); err != nil || head[0]&0x0f == 1 {
			return data, err
		}
	}
}
