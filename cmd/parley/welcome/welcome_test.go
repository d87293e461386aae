package welcome_test

import (
	"strings"
	"testing"

	"rsc.io/qr"

	"parley.internal/cmd/parley/welcome"
)

// The drawing is read back, square by square.
func TestACodeIsDrawnAsItIs(t *testing.T) {
	const link = "https://hub.example.org/#login=prk_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG"
	drawn, err := welcome.QR(link)
	if err != nil {
		t.Fatal(err)
	}
	code, err := qr.Encode(link, qr.L)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(drawn, "\n"), "\n")
	for i, line := range lines {
		line = strings.TrimSuffix(strings.TrimPrefix(line, "  \x1b[30;107m"), "\x1b[0m")
		for j, r := range []rune(line) {
			x, y := j-4, 2*i-4
			above, below := r == '█' || r == '▀', r == '█' || r == '▄'
			if above != code.Black(x, y) || below != code.Black(x, y+1) {
				t.Fatalf("the square at %d, %d is %q", x, y, r)
			}
		}
	}
	if want := (code.Size + 9) / 2; len(lines) != want {
		t.Errorf("%d lines, want %d", len(lines), want)
	}
}

func TestAPhoneIsOfferedOnlyWhatItCanReach(t *testing.T) {
	for address, want := range map[string]bool{
		"http://127.0.0.1:7788": false, "http://localhost:7788": false, "http://[::1]:7788": false, "http://a.localhost": false,
		"https://hub.example.org": true, "https://192.168.1.5:7788": true,
	} {
		var b strings.Builder
		page := welcome.Page{URL: address, Link: address + "/#login=prk_x", Person: true}
		if page.ForPhone() {
			page.Phone = address + "/#login=prk_y"
		}
		if err := page.Print(&b); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(b.String(), "camera"); got != want {
			t.Errorf("%s: a code is shown: %v, want %v", address, got, want)
		}
		if !strings.Contains(b.String(), "Log in once with     "+address+"/#login=prk_x\n") || !strings.Contains(b.String(), "parley chat parley") {
			t.Errorf("%s: it says %s", address, b.String())
		}
	}
	var b strings.Builder
	if err := (welcome.Page{URL: "https://h", Link: "https://h/#login=x"}).Print(&b); err != nil || strings.Contains(b.String(), "camera") || strings.Contains(b.String(), "chat") {
		t.Errorf("a log file gets %q, %v", b.String(), err)
	}
}
