package notice

import (
	"context"

	"golang.org/x/sys/windows"

	"parley.internal/internal/endpoint/control"
)

// What MessageBox answers for its buttons.
const (
	answeredYes = 6
	answeredNo  = 7
)

// Desktop shows a question in a box of its own. A box cannot be taken down from here: it
// goes with the helper, which ends soon after the last question.
func Desktop(ctx context.Context, q control.Question) (Answer, error) {
	text, whole := Text(q)
	kind := uint32(windows.MB_YESNOCANCEL | windows.MB_ICONQUESTION | windows.MB_DEFBUTTON3 | windows.MB_SETFOREGROUND)
	text += "\n\nYes allows it, No denies it, Cancel leaves it for later."
	if !whole {
		kind = windows.MB_OKCANCEL | windows.MB_ICONQUESTION | windows.MB_DEFBUTTON2 | windows.MB_SETFOREGROUND
		text, _ = Text(q)
	}
	box, title := windows.StringToUTF16Ptr(text), windows.StringToUTF16Ptr("Parley: may this run?")
	answered := make(chan int32, 1)
	go func() {
		got, _ := windows.MessageBox(0, box, title, kind) // 0 if it cannot be shown
		answered <- got
	}()
	select {
	case got := <-answered:
		switch {
		case got == answeredYes && whole:
			return Allow, nil
		case got == answeredNo && whole:
			return Deny, nil
		}
		return Closed, nil
	case <-ctx.Done():
		return Closed, ctx.Err()
	}
}
