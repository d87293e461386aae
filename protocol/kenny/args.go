package kenny

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/protocol/jsonobject"
)

// Args are the checked arguments of one call.
type Args struct {
	values map[string]any // string, int, bool or []string
	order  []string
}

// Text is a textual argument; "" when absent.
func (a Args) Text(name string) string { s, _ := a.values[name].(string); return s }

// Int is an integer argument; 0 when absent.
func (a Args) Int(name string) int { n, _ := a.values[name].(int); return n }

// Flag is a boolean argument; false when absent.
func (a Args) Flag(name string) bool { b, _ := a.values[name].(bool); return b }

// Texts is a list argument; nil when absent.
func (a Args) Texts(name string) []string { l, _ := a.values[name].([]string); return l }

// Has reports whether an argument is there, given or by default.
func (a Args) Has(name string) bool { _, ok := a.values[name]; return ok }

// Wire re-encodes the checked values as an args object: nothing that was not
// checked can reach a machine.
func (a Args) Wire() jsontext.Value {
	var buf bytes.Buffer
	enc := jsontext.NewEncoder(&buf)
	tokens := []jsontext.Token{jsontext.BeginObject}
	for _, name := range a.order {
		if v, ok := a.values[name]; ok {
			tokens = append(append(tokens, jsontext.String(name)), valueTokens(v)...)
		}
	}
	for _, t := range append(tokens, jsontext.EndObject) {
		_ = enc.WriteToken(t) // checked values and a buffer: nothing can fail
	}
	return jsontext.Value(bytes.TrimSpace(buf.Bytes()))
}

func valueTokens(v any) []jsontext.Token {
	switch v := v.(type) {
	case int:
		return []jsontext.Token{jsontext.Int(int64(v))}
	case bool:
		return []jsontext.Token{jsontext.Bool(v)}
	case []string:
		out := []jsontext.Token{jsontext.BeginArray}
		for _, s := range v {
			out = append(out, jsontext.String(s))
		}
		return append(out, jsontext.EndArray)
	default:
		s, _ := v.(string)
		return []jsontext.Token{jsontext.String(s)}
	}
}

// CheckArgs holds the args object of a request to the tool's exact keys, types
// and bounds. The error is an [*Error] with [CodeBadArgs].
func (t Tool) CheckArgs(raw jsontext.Value) (Args, error) { return checkArgs(t.Name, t.Args, raw) }

func checkArgs(tool string, known []Arg, raw jsontext.Value) (Args, error) {
	members, err := parseObject(raw)
	if err != nil {
		return Args{}, badArgs("%s: the arguments are %v", tool, objectProblem(err))
	}
	out := Args{values: make(map[string]any, len(known))}
	for _, arg := range known {
		out.order = append(out.order, arg.Name)
		v, ok := members[arg.Name]
		delete(members, arg.Name)
		if err := out.put(tool, arg, v, ok); err != nil {
			return Args{}, err
		}
	}
	for _, extra := range slices.Sorted(maps.Keys(members)) {
		return Args{}, badArgs("%s has no argument %q; %s", tool, clip(extra), advise(extra, known))
	}
	return out, nil
}

func objectProblem(err error) string {
	if errors.Is(err, jsonobject.ErrNotObject) {
		return "not a JSON object"
	}
	return "not valid JSON: " + err.Error()
}

// put checks one argument and stores it.
func (a Args) put(tool string, arg Arg, v jsontext.Value, given bool) error {
	switch {
	case !given && !arg.Optional:
		return badArgs("%s needs %q: %s", tool, arg.Name, arg.Description)
	case !given && arg.Default != 0:
		a.values[arg.Name] = arg.Default
		return nil
	case !given:
		return nil
	}
	value, err := arg.read(v)
	if err != nil {
		return badArgs("%s: %q %w", tool, arg.Name, err)
	}
	a.values[arg.Name] = value
	return nil
}

// read gives the checked value of one argument.
func (a Arg) read(v jsontext.Value) (any, error) {
	switch a.Kind {
	case KindInteger:
		return a.readInt(v)
	case KindTexts:
		return a.readTexts(v)
	case KindFlag:
		return readFlag(v)
	default:
		return a.readText(v)
	}
}

// readInt takes 30 and, as JSON Schema does, 30.0 too.
func (a Arg) readInt(v jsontext.Value) (int, error) {
	if v.Kind() != '0' {
		return 0, errors.New("must be a whole number")
	}
	n, err := strconv.ParseFloat(string(bytes.TrimSpace(v)), 64)
	if err != nil || n != math.Trunc(n) {
		return 0, errors.New("must be a whole number")
	}
	if n < float64(a.Min) || n > float64(a.Max) {
		return 0, fmt.Errorf("must be from %d to %d", a.Min, a.Max)
	}
	return int(n), nil
}

func readFlag(v jsontext.Value) (bool, error) {
	switch v.Kind() {
	case 't':
		return true, nil
	case 'f':
		return false, nil
	}
	return false, errors.New("must be true or false")
}

func (a Arg) readText(v jsontext.Value) (string, error) {
	s, err := unquote(v)
	if err != nil {
		return "", errors.New("must be a string")
	}
	n := utf8.RuneCountInString(s)
	switch {
	case n < a.Min:
		return "", errors.New("must not be empty")
	case n > a.Max, a.MaxBytes > 0 && len(s) > a.MaxBytes:
		return "", fmt.Errorf("is too long: at most %d", a.Max)
	case strings.ContainsRune(s, 0):
		return "", errors.New("must not contain a NUL character")
	case a.Shape != nil && !a.Shape.MatchString(s):
		return "", errors.New("must be " + a.Hint)
	}
	return s, nil
}

func (a Arg) readTexts(v jsontext.Value) ([]string, error) {
	if v.Kind() != '[' {
		return nil, errors.New("must be a list of strings")
	}
	items, err := jsonobject.List(v, a.Max)
	if err != nil {
		return nil, fmt.Errorf("must be a list of at most %d strings", a.Max)
	}
	out := make([]string, 0, len(items))
	for _, item := range items {
		s, err := unquote(item)
		if err != nil || utf8.RuneCountInString(s) > MaxText {
			return nil, fmt.Errorf("must be a list of strings of at most %d characters", MaxText)
		}
		out = append(out, s)
	}
	return out, nil
}

// advise helps whoever mistyped a key.
func advise(key string, known []Arg) string {
	var names []string
	for _, a := range known {
		if strings.EqualFold(a.Name, key) {
			return fmt.Sprintf("did you mean %q?", a.Name)
		}
		names = append(names, a.Name)
	}
	if len(names) == 0 {
		return "it takes none"
	}
	return "it takes " + strings.Join(names, ", ")
}

func badArgs(format string, args ...any) *Error {
	return &Error{Code: CodeBadArgs, Message: fmt.Errorf(format, args...).Error()}
}
