package notice

import (
	"context"
	"os/exec"
	"strings"

	"parley.internal/internal/endpoint/control"
)

// Desktop shows a question as a dialog. The text goes as an argument, so that nothing in
// it is taken for a script; ending ctx takes the dialog down.
func Desktop(ctx context.Context, q control.Question) (Answer, error) {
	text, whole := Text(q)
	buttons := `{"Later", "Deny"}`
	if whole {
		buttons = `{"Later", "Deny", "Allow"}`
	}
	script := `display dialog (item 1 of argv) with title "Parley: may this run?" buttons ` + buttons + ` default button "Later"`
	out, err := exec.CommandContext(ctx, "/usr/bin/osascript", "-e", "on run argv", "-e", script, "-e", "end run", text).Output()
	switch answer := strings.TrimSpace(string(out)); {
	case err != nil:
		return Closed, err
	case answer == "button returned:Allow" && whole:
		return Allow, nil
	case answer == "button returned:Deny":
		return Deny, nil
	}
	return Closed, nil
}
