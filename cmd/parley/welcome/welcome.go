// Package welcome is what 'parley up' says to a person: where the hub is, how to get in,
// and what to do next.
package welcome

import (
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"

	"rsc.io/qr"
)

// Page is what is told.
type Page struct {
	// URL is where the hub is, Link logs a browser in, once. Phone is a link of its own,
	// for a phone that scans it: one used on the computer works no more.
	URL, Link, Phone string
	// Person is at a terminal: there is room for more than two lines, and a phone may look.
	Person bool
}

// Print writes it.
func (p Page) Print(w io.Writer) error {
	fmt.Fprintf(w, "\n  Parley is running at %s\n  Log in once with     %s\n  (the link works for 15 minutes; 'parley login' makes another)\n\n", p.URL, p.Link)
	if !p.Person {
		return nil
	}
	if p.Phone != "" {
		code, err := QR(p.Phone)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "  Or point your phone's camera here:\n\n%s\n", code)
	}
	_, err := fmt.Fprint(w, `  What you can do now, on the page or in a second terminal:

    parley chat parley                  talk with the agent that is there
    parley task submit "…"              give it something to do; it asks before it changes anything
    parley machine list                 this computer is in the fleet already
    parley doctor                       see what a real model, TLS and others still need

  The documentation is on the hub, too: `+p.URL+`/docs/
  Ctrl-C stops the hub; everything is kept.

`)
	return err
}

// ForPhone tells whether a phone should be offered a link: somebody is there to scan it, and
// the hub is not on this computer alone.
func (p Page) ForPhone() bool { return p.Person && Reachable(p.Link) }

// Reachable tells whether another device could follow a link.
func Reachable(link string) bool {
	u, err := url.Parse(link)
	if err != nil {
		return false
	}
	host := u.Hostname()
	ip := net.ParseIP(host)
	return host != "" && host != "localhost" && !strings.HasSuffix(host, ".localhost") && (ip == nil || !ip.IsLoopback() && !ip.IsUnspecified())
}

// quiet is how much white a code needs around it.
const quiet = 4

// QR draws a code with half blocks, two rows a line, black on white whatever the terminal's
// colours are: readers want it that way round.
func QR(text string) (string, error) {
	code, err := qr.Encode(text, qr.L)
	if err != nil {
		return "", fmt.Errorf("a code for the link: %w", err)
	}
	var b strings.Builder
	for y := -quiet; y < code.Size+quiet; y += 2 {
		b.WriteString("  \x1b[30;107m")
		for x := -quiet; x < code.Size+quiet; x++ {
			b.WriteString(block(code.Black(x, y), code.Black(x, y+1)))
		}
		b.WriteString("\x1b[0m\n")
	}
	return b.String(), nil
}

func block(above, below bool) string {
	switch {
	case above && below:
		return "█"
	case above:
		return "▀"
	case below:
		return "▄"
	}
	return " "
}
