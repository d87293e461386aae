package screen

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

func windowSize(f *os.File) (rows, cols int, ok bool) {
	var info windows.ConsoleScreenBufferInfo
	if windows.GetConsoleScreenBufferInfo(windows.Handle(f.Fd()), &info) != nil {
		return 0, 0, false
	}
	return int(info.Window.Bottom-info.Window.Top) + 1, int(info.Window.Right-info.Window.Left) + 1, true
}

// makeRaw lets every key through and understands what the hub's terminals print.
func makeRaw(in, out *os.File) (restore func(), err error) {
	inHandle, outHandle := windows.Handle(in.Fd()), windows.Handle(out.Fd())
	var inMode, outMode uint32
	if windows.GetConsoleMode(inHandle, &inMode) != nil || windows.GetConsoleMode(outHandle, &outMode) != nil {
		return nil, nil // what is piped in is no terminal, and need not be
	}
	raw := inMode &^ (windows.ENABLE_ECHO_INPUT | windows.ENABLE_PROCESSED_INPUT | windows.ENABLE_LINE_INPUT)
	if err := windows.SetConsoleMode(inHandle, raw|windows.ENABLE_VIRTUAL_TERMINAL_INPUT); err != nil {
		return nil, err
	}
	_ = windows.SetConsoleMode(outHandle, outMode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) // old consoles cannot
	return func() {
		_ = windows.SetConsoleMode(inHandle, inMode)
		_ = windows.SetConsoleMode(outHandle, outMode)
	}, nil
}

// sizeChanges has no signal here; the size is looked at now and then.
func sizeChanges(ctx context.Context) <-chan os.Signal {
	changed := make(chan os.Signal, 1)
	go func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				select {
				case changed <- os.Interrupt:
				default:
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return changed
}
