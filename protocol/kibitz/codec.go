package kibitz

import (
	"errors"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
)

// DecodeClient reads a message of a client. The error is a [*FrameError].
// Unknown members are ignored; known ones of another type, names used twice
// and bad UTF-8 are refused. The frame owns its memory.
func DecodeClient(data []byte) (ClientFrame, error) {
	members := objects.Get().(object)
	defer members.free()
	o, head, err := readHead(members, data, MaxFrame)
	if err != nil {
		return nil, err
	}
	f := newClientFrame(head.Type)
	if f == nil {
		head.Code, head.Reason = ProtoUnknown, "unknown frame type"
		return nil, head
	}
	if err := fillClient(f, o, head.N); err != nil {
		head.Reason = "a member has the wrong type"
		return nil, head
	}
	if err := f.check(o); err != nil {
		head.Reason = err.Error()
		return nil, head
	}
	return f, nil
}

// DecodeHub reads a message of the hub. The error is a [*FrameError]; one with
// proto.unknown is a frame of a later hub, to be ignored.
func DecodeHub(data []byte) (Frame, error) {
	o, head, err := readHead(make(object, 8), data, MaxHubFrame)
	if err != nil {
		return nil, err
	}
	f := newHubFrame(head.Type)
	if f == nil {
		head.Code, head.Reason = ProtoUnknown, "unknown frame type"
		return nil, head
	}
	delete(o, "n")
	if err := fill(f, o, head.N); err != nil {
		head.Reason = "a member has the wrong type"
		return nil, head
	}
	return f, nil
}

// readHead finds t and n. The head is an error waiting for its reason.
func readHead(members object, data []byte, most int) (object, *FrameError, error) {
	head := &FrameError{Code: ProtoBadFrame}
	if len(data) > most {
		head.Code, head.Reason = LimitSize, "frame too large"
		return nil, nil, head
	}
	o, err := readObjectInto(members, data)
	if err != nil {
		head.Reason = "not a JSON object"
		return nil, nil, head
	}
	t, ok := o.text("t")
	if !ok {
		head.Reason = "t is not a string"
		return nil, nil, head
	}
	head.Type = Type(t)
	delete(o, "t")
	if head.N, ok = readN(o); !ok {
		head.Reason = "n is not an integer from 1 to 2^53-1"
		return nil, nil, head
	}
	return o, head, nil
}

// readN reads the optional number of a frame.
func readN(o object) (int64, bool) {
	if !o.has("n") {
		return 0, true
	}
	n, ok := o.number("n")
	if !ok || n != math.Trunc(n) || n < 1 || n > MaxN {
		return 0, false
	}
	return int64(n), true
}

// fillClient is fill; a message, by far the most frequent frame, takes a shorter
// way to the same fields.
func fillClient(f ClientFrame, o object, n int64) error {
	if s, ok := f.(*Send); ok {
		return s.fill(o, n)
	}
	// Read as a whole number already: the member may be written 1e3.
	delete(o, "n")
	return fill(f, o, n)
}

func (f *Send) fill(o object, n int64) (err error) {
	f.N = n
	for _, member := range []struct {
		key string
		to  *string
	}{{"to", &f.To}, {"id", &f.ID}} {
		v, ok := o[member.key]
		if !ok || v.Kind() == 'n' {
			continue
		}
		if *member.to, ok = unquote(v); !ok {
			return errType
		}
	}
	if c, ok := o["c"]; ok {
		f.C, err = compact(c.Clone()) // the frame owns its memory
	}
	return err
}

// fill reads the members into the frame's fields.
func fill(f any, o object, n int64) error {
	if n > 0 {
		o["n"] = fmtInt(n)
	}
	whole, err := marshal(map[string]Raw(o))
	if err != nil {
		return err
	}
	return json.Unmarshal(whole, f, lenientText)
}

// Encode writes a frame, t first.
func Encode(f Frame) ([]byte, error) {
	if a, ok := f.(*Ack); ok {
		return a.append(make([]byte, 0, 64)), nil
	}
	body, err := marshal(f)
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(body)+16)
	out = append(out, `{"t":"`...)
	out = append(out, f.Type()...)
	out = append(out, '"')
	if len(body) > len("{}") {
		out = append(out, ',')
	}
	return append(out, body[1:]...), nil
}

// append writes the answer to every message, as Encode would.
func (a *Ack) append(b []byte) []byte {
	b = strconv.AppendInt(append(b, `{"t":"ack","n":`...), a.N, 10)
	if a.Seq != 0 {
		b = strconv.AppendUint(append(b, `,"seq":`...), a.Seq, 10)
	}
	if a.Dup {
		b = append(b, `,"dup":true`...)
	}
	if a.To != nil {
		b = strconv.AppendInt(append(b, `,"to":`...), int64(*a.To), 10)
	}
	if a.Withheld != nil {
		b = strconv.AppendInt(append(b, `,"withheld":`...), int64(*a.Withheld), 10)
	}
	return append(b, '}')
}

// What decoding by type cannot see.

func (a *Announce) check(o object) error {
	if o.has("meta") && a.Meta.Kind() != '{' {
		return errors.New("meta is not an object")
	}
	for _, v := range []*Raw{&a.Meta, &a.Want, &a.AgentKey} {
		if v.Kind() == 'n' {
			*v = nil // null says nothing
		}
	}
	return nil
}

func (f *Resume) check(object) error {
	if f.Resume == "" {
		return errors.New("resume is missing")
	}
	return nil
}

// check insists on a real recipient: a message meant for one must not become
// a broadcast because an id was empty.
func (f *Send) check(o object) error {
	if _, ok := o["to"]; ok && f.To == "" {
		return errors.New("to is not a participant id")
	}
	if f.C.Kind() != '{' {
		return errors.New("c is not an object")
	}
	if utf8.RuneCountInString(f.ID) > MaxSendID {
		return errors.New("id is too long")
	}
	return nil
}

func (f *SetGrant) check(object) error {
	if f.ID == "" {
		return errors.New("id is missing")
	}
	if k := f.Grant.Kind(); k != '{' && k != 'n' {
		return errors.New("grant is neither an object nor null")
	}
	return nil
}

func (f *Mod) check(object) error {
	if f.Token == "" && f.Op == "" {
		return errors.New("neither token nor op")
	}
	return nil
}

func (f *Sig) check(object) error {
	if f.To == "" {
		return errors.New("to is missing")
	}
	if f.D.Kind() != '{' {
		return errors.New("d is not an object")
	}
	return nil
}

func (f *Blocked) check(object) error {
	if f.ID == "" || f.C == "" {
		return errors.New("id or c is missing")
	}
	return nil
}

func (*Media) check(object) error { return nil }
func (*Sync) check(object) error  { return nil }
func (*Leave) check(object) error { return nil }
func (*Ping) check(object) error  { return nil }
func (*Pong) check(object) error  { return nil }
