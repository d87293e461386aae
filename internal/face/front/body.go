package front

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// ErrSlow says that a caller sent its request so slowly that it was not waited for.
var ErrSlow = errors.New("the request came too slowly")

// Body is what a route reads of a request. Times that are zero are the front's.
type Body struct {
	// Max is the most bytes; more fail with *http.MaxBytesError.
	Max int64
	// Time is what any body may take, and Rate the bytes a second of one that takes
	// longer. Only waiting for the caller counts, not what the handler does between.
	Time time.Duration
	Rate int64
	// Pause is how long not a single byte may come.
	Pause time.Duration
	// Drain is how much of what is too large is read and thrown away, so that a
	// caller that writes before it reads gets its answer.
	Drain int64
}

// Nothing is the body of routes that read none, whatever their method.
var Nothing = Body{Rate: 1}

// Paces are how slowly callers may send; the zero value has the usual ones.
type Paces struct {
	Time, Pause time.Duration
	Rate        int64
}

func (p Paces) withDefaults() Paces {
	if p.Time <= 0 {
		p.Time = 30 * time.Second
	}
	if p.Pause <= 0 {
		p.Pause = 10 * time.Second
	}
	if p.Rate <= 0 {
		p.Rate = 8 << 10
	}
	return p
}

func (b Body) withDefaults(p Paces) Body {
	if b.Time <= 0 {
		b.Time = p.Time
	}
	if b.Pause <= 0 {
		b.Pause = p.Pause
	}
	if b.Rate <= 0 {
		b.Rate = p.Rate
	}
	return b
}

// String reads "1 MiB, 30s + 1s per 8 KiB, pauses of 10s".
func (b Body) String() string {
	if b.Max == 0 {
		return "none"
	}
	return fmt.Sprintf("%s, %s + 1s per %s, pauses of %s", size(b.Max), b.Time, size(b.Rate), b.Pause)
}

func size(n int64) string {
	switch {
	case n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d B", n)
}

// reader is a request's body under its route's limits. It owns the connection's
// read deadline: what stands there when the handler leaves the body alone, or
// answers early, ends the server's own reading of the rest.
type reader struct {
	under   io.ReadCloser
	w       http.ResponseWriter
	allowed Body
	told    int64 // the announced length; -1 if there is none
	got     int64
	waited  time.Duration
	armed   time.Time
	err     error
}

func (f *Front) newReader(w http.ResponseWriter, r *http.Request) *reader {
	b := &reader{under: r.Body, w: w, told: r.ContentLength, allowed: Nothing.withDefaults(f.paces)}
	b.arm(time.Now())
	return b
}

// allow replaces the strictest limits, which hold until a route is found.
func (b *reader) allow(body Body) {
	b.allowed = body
	b.arm(time.Now())
}

// Read waits for the caller, but not for long.
func (b *reader) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	if len(p) == 0 {
		return 0, nil
	}
	left := b.allowed.Max - b.got
	if left < 0 || b.told > b.allowed.Max+b.allowed.Drain {
		return 0, b.tooLarge()
	}
	// One byte more than allowed shows that there is more.
	if int64(len(p)) > left+1 {
		p = p[:left+1]
	}
	n, err := b.wait(p)
	b.got += int64(n)
	if b.got > b.allowed.Max {
		return int(left), b.tooLarge()
	}
	b.err = err
	return n, err
}

// wait reads once. The server itself takes the deadline back when a body is whole.
func (b *reader) wait(p []byte) (int, error) {
	started := time.Now()
	b.arm(started)
	n, err := b.under.Read(p)
	b.waited += time.Since(started)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("%w: %w", ErrSlow, err)
	}
	return n, err
}

// arm sets the deadline for the next byte. A deadline that is nearly the same is
// left as it is: most bodies are whole at the first read.
func (b *reader) arm(now time.Time) {
	left := b.allowed.Time + time.Duration(b.got/b.allowed.Rate)*time.Second - b.waited
	pause := min(b.allowed.Pause, max(left, 0))
	until := now.Add(pause)
	if ahead := until.Sub(b.armed); ahead >= 0 && ahead < b.allowed.Pause/8 && !b.armed.IsZero() {
		return
	}
	if http.NewResponseController(b.w).SetReadDeadline(until) == nil {
		b.armed = until
	}
}

// tooLarge reads some of the rest, and hangs up after the answer if there is still
// more.
func (b *reader) tooLarge() error {
	b.err = &http.MaxBytesError{Limit: b.allowed.Max}
	if b.told > b.allowed.Max+b.allowed.Drain {
		b.w.Header().Set("Connection", "close")
		return b.err
	}
	rest := make([]byte, 32<<10)
	for drained := int64(0); drained < b.allowed.Drain; {
		n, err := b.wait(rest)
		b.got, drained = b.got+int64(n), drained+int64(n)
		if err != nil {
			return b.err
		}
	}
	b.w.Header().Set("Connection", "close")
	return b.err
}

// Close implements io.Closer.
func (b *reader) Close() error { return b.under.Close() }
