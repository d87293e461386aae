package launcher

import (
	"strings"
	"syscall"
)

// order is one of the hub's orders.
type order struct{ verb, first, second string }

// maxOrders is more than any box has of them, in bytes.
const maxOrders = 4 << 20

// readOrders reads what the hub wrote down for this box.
func readOrders() ([]order, syscall.Errno) {
	var text []byte
	buf := make([]byte, 32<<10)
	for len(text) < maxOrders {
		n, err := syscall.Read(Orders, buf)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return nil, errno(err)
		}
		if n == 0 {
			_ = syscall.Close(Orders)
			return parseOrders(string(text))
		}
		text = append(text, buf[:n]...)
	}
	return nil, syscall.EFBIG
}

func parseOrders(text string) (list []order, err syscall.Errno) {
	words := strings.Split(text, "\x00")
	if len(words)%3 != 1 || words[len(words)-1] != "" {
		return nil, syscall.EINVAL
	}
	for i := 0; i+2 < len(words); i += 3 {
		list = append(list, order{words[i], words[i+1], words[i+2]})
	}
	return list, 0
}

// box is a box being made.
type box struct {
	sockets string // which may be made
	// terminal is the name of the program's own terminal outside, if it has one.
	terminal string
	at       string // the order that could not be carried out, for the message
}

// carryOut does what one order says. One that is not known makes no box.
func (b *box) carryOut(o order) syscall.Errno {
	switch o.verb {
	case Root:
		return b.newRoot(o.first)
	case Bind:
		return show(OldRoot+o.first, o.second)
	case Again:
		return show(o.first, o.second)
	case Place:
		return place(o.first, o.second)
	case Link:
		return link(o.first, o.second)
	case Terminal:
		return b.showTerminal()
	case Proc:
		return ownProc(o.first)
	case Shut:
		return shut()
	case Writable:
		return writable(o.first)
	case Folder:
		return errno(syscall.Chdir(o.first))
	case Loopback:
		return loopback()
	case Listen:
		return listen()
	case Sockets:
		b.sockets = o.first
		return 0
	case Limit:
		return limit(o.first, o.second)
	}
	return syscall.ENOSYS
}

// number reads a decimal number.
func number(text string) (n uint64, err syscall.Errno) {
	if text == "" || len(text) > 19 {
		return 0, syscall.EINVAL
	}
	for _, c := range []byte(text) {
		if c < '0' || c > '9' {
			return 0, syscall.EINVAL
		}
		n = n*10 + uint64(c-'0')
	}
	return n, 0
}

// limit sets a resource limit for the program and all it starts.
func limit(which, value string) syscall.Errno {
	resource, err := number(which)
	if err != 0 {
		return err
	}
	most, err := number(value)
	if err != 0 {
		return err
	}
	var now syscall.Rlimit
	if err := syscall.Getrlimit(int(resource), &now); err != nil {
		return errno(err)
	}
	most = min(most, now.Max) // never more than the hub has itself
	return errno(syscall.Setrlimit(int(resource), &syscall.Rlimit{Cur: most, Max: most}))
}
