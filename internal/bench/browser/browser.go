package browser

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"time"
)

// Browser is a headless Chromium, told what to do over a pair of pipes (the
// DevTools protocol: JSON, each message ended by a zero byte).
type Browser struct {
	cmd  *exec.Cmd
	in   *os.File
	out  *bufio.Reader
	pipe *os.File
	last int

	// received counts what has come over the network since it was set to 0.
	received int64
}

// ErrNone says that there is nothing to measure with.
var ErrNone = errors.New("no Chromium was found: PARLEY_CHROMIUM can name one")

// chromium finds the program.
func chromium() (string, error) {
	if runtime.GOOS == "windows" {
		return "", ErrNone // its pipes are handed over in another way
	}
	for _, name := range []string{os.Getenv("PARLEY_CHROMIUM"), "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", ErrNone
}

// Open starts it with an empty profile in a folder. It ends with ctx.
func Open(ctx context.Context, profile string) (*Browser, error) {
	program, err := chromium()
	if err != nil {
		return nil, err
	}
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, theirIn.Close(), in.Close())
	}
	cmd := exec.CommandContext(ctx, program, "--headless", "--remote-debugging-pipe", "--user-data-dir="+profile, "--no-first-run",
		"--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync")
	if os.Geteuid() == 0 {
		cmd.Args = append(cmd.Args, "--no-sandbox") // which refuses to work for root
	}
	cmd.ExtraFiles = []*os.File{theirIn, theirOut} // file descriptors 3 and 4
	err = cmd.Start()
	_, _ = theirIn.Close(), theirOut.Close()
	if err != nil {
		return nil, errors.Join(err, in.Close(), out.Close())
	}
	return &Browser{cmd: cmd, in: in, out: bufio.NewReader(out), pipe: out}, nil
}

// Close ends it and waits.
func (b *Browser) Close() {
	_ = b.call("", "Browser.close", nil, nil)
	_, _ = b.in.Close(), b.pipe.Close()
	_ = b.cmd.Wait()
}

// call asks for one thing, of the browser or in a session, and counts what
// happens until the answer comes.
func (b *Browser) call(session, method string, params map[string]any, result any) error {
	b.last++
	raw, err := json.Marshal(map[string]any{"id": b.last, "sessionId": session, "method": method, "params": params})
	if session == "" {
		raw, err = json.Marshal(map[string]any{"id": b.last, "method": method, "params": params})
	}
	if err != nil {
		return err
	}
	if _, err := b.in.Write(append(raw, 0)); err != nil {
		return err
	}
	for {
		line, err := b.out.ReadBytes(0)
		if err != nil {
			return fmt.Errorf("the browser ended: %w", err)
		}
		var m struct {
			ID     int             `json:"id"`
			Result json.RawMessage `json:"result"`
			Error  *struct {
				Message string `json:"message"`
			} `json:"error"`
			Params struct {
				Encoded float64 `json:"encodedDataLength"`
			} `json:"params"`
			Method string `json:"method"`
		}
		if err := json.Unmarshal(bytes.TrimRight(line, "\x00"), &m); err != nil {
			return err
		}
		switch {
		case m.Method == "Network.loadingFinished":
			b.received += int64(m.Params.Encoded)
		case m.ID != b.last || m.Method != "":
		case m.Error != nil:
			return fmt.Errorf("%s: %s", method, m.Error.Message)
		case result == nil:
			return nil
		default:
			return json.Unmarshal(m.Result, result)
		}
	}
}

// usable tells, in the page, when it can be used: its title is there, nothing is
// grey any more and the hub is heard. The time is counted from the navigation.
const usable = `new Promise((done) => {
  const look = () => document.querySelector('#page-title') && !document.querySelector('.shimmer') && /\bLive\b/.test(document.body.innerText)
    ? done(performance.now()) : setTimeout(look, 4);
  look();
})`

// Load opens an address in a fresh profile: what came over the network, and how
// long it took until the page could be used.
func (b *Browser) Load(url string) (received int64, ready time.Duration, err error) {
	var made struct {
		Context string `json:"browserContextId"`
		Target  string `json:"targetId"`
		Session string `json:"sessionId"`
	}
	if err := b.call("", "Target.createBrowserContext", map[string]any{}, &made); err != nil {
		return 0, 0, err
	}
	defer func() {
		err = errors.Join(err, b.call("", "Target.disposeBrowserContext", map[string]any{"browserContextId": made.Context}, nil))
	}()
	if err := b.call("", "Target.createTarget", map[string]any{"url": "about:blank", "browserContextId": made.Context}, &made); err != nil {
		return 0, 0, err
	}
	if err := b.call("", "Target.attachToTarget", map[string]any{"targetId": made.Target, "flatten": true}, &made); err != nil {
		return 0, 0, err
	}
	if err := b.call(made.Session, "Network.enable", map[string]any{}, nil); err != nil {
		return 0, 0, err
	}
	b.received = 0
	if err := b.call(made.Session, "Page.navigate", map[string]any{"url": url}, nil); err != nil {
		return 0, 0, err
	}
	var answer struct {
		Result struct {
			Value float64 `json:"value"`
		} `json:"result"`
	}
	err = b.call(made.Session, "Runtime.evaluate", map[string]any{"expression": usable, "awaitPromise": true, "returnByValue": true}, &answer)
	if err == nil && answer.Result.Value == 0 {
		err = errors.New("the page went away while it was measured")
	}
	return b.received, time.Duration(answer.Result.Value * float64(time.Millisecond)), err
}
