package offline

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// usage is the list of directives, as shown to whoever mistypes one.
const usage = "/say TEXT, /tool NAME {json}, /and NAME {json}, /sleep MS, /fail STATUS [TEXT], " +
	"/fail-once STATUS, /chunks N, /pace MS, /result, /context, /usage P C, /cost USD, //TEXT"

// maxWait bounds /sleep and /pace, so that no script outlives a run's time-out by much.
const maxWait = 600_000

// maxChunks bounds /chunks; more pieces than that test nothing new.
const maxChunks = 1_000_000

type op uint8

const (
	opSay op = iota + 1
	opBatch
	opSleep
	opFail
	opChunks
	opPace
	opResult
	opContext
	opUsage
	opCost
)

// step is one thing the model does.
type step struct {
	op    op
	text  string // opSay, opFail
	calls []call // opBatch
	n, m  int64  // milliseconds, pieces, tokens or micros
	// opFail: what to fail like, and whether only the first attempt does.
	status  int
	context bool
	once    bool
}

type call struct{ name, args string }

// parse reads a script. Lines that are no directives are skipped. In a strict
// script (a task's) an unknown directive is answered by a line that says so; in a
// conversation it is just another line.
func parse(script string, strict bool) []step {
	var p parser
	for line := range strings.Lines(script) {
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		if strings.HasPrefix(line, "/") {
			p.line(line, strict)
		}
	}
	return p.done()
}

type parser struct {
	steps []step
	open  bool // the last directive was /tool or /and: another /and may join it
}

func (p *parser) line(line string, strict bool) {
	if text, ok := strings.CutPrefix(line, "//"); ok {
		p.open = false
		p.add(step{op: opSay, text: "/" + text})
		return
	}
	word, rest := cutWord(line)
	read, known := directives[word]
	if !known {
		if strict && looksLikeDirective(word) {
			p.open = false
			p.complain("unknown directive %s", word)
		}
		return
	}
	if word != "/and" {
		p.open = false
	}
	read(p, rest)
}

func (p *parser) add(s step) { p.steps = append(p.steps, s) }

func (p *parser) complain(format string, args ...any) {
	p.add(step{op: opSay, text: "Offline model: " + fmt.Sprintf(format, args...) + "; I know " + usage + "."})
}

// done drops batches whose every call was refused.
func (p *parser) done() []step {
	kept := p.steps[:0]
	for _, s := range p.steps {
		if s.op != opBatch || len(s.calls) > 0 {
			kept = append(kept, s)
		}
	}
	return kept
}

var directives = map[string]func(p *parser, rest string){
	"/say":       func(p *parser, rest string) { p.add(step{op: opSay, text: rest}) },
	"/tool":      (*parser).tool,
	"/and":       (*parser).and,
	"/sleep":     func(p *parser, rest string) { p.number("/sleep", opSleep, rest, 0, maxWait) },
	"/pace":      func(p *parser, rest string) { p.number("/pace", opPace, rest, 0, maxWait) },
	"/chunks":    func(p *parser, rest string) { p.number("/chunks", opChunks, rest, 1, maxChunks) },
	"/fail":      func(p *parser, rest string) { p.add(failure(rest, false)) },
	"/fail-once": func(p *parser, rest string) { p.add(failure(rest, true)) },
	"/result":    func(p *parser, _ string) { p.add(step{op: opResult}) },
	"/context":   func(p *parser, _ string) { p.add(step{op: opContext}) },
	"/usage":     (*parser).usage,
	"/cost":      (*parser).cost,
}

// IsDirective reports whether a line of text is one the offline model acts on, so
// that others (skills invoked as "/name") leave it alone.
func IsDirective(line string) bool {
	if strings.HasPrefix(line, "//") {
		return true
	}
	word, _ := cutWord(line)
	_, known := directives[word]
	return known
}

func (p *parser) tool(rest string) {
	p.open = true
	c, why := readCall(rest)
	if why != "" {
		p.complain("/tool %s", why)
		p.add(step{op: opBatch})
		return
	}
	p.add(step{op: opBatch, calls: []call{c}})
}

func (p *parser) and(rest string) {
	if !p.open {
		p.complain("/and needs a /tool line right before it")
		return
	}
	c, why := readCall(rest)
	batch := p.steps[len(p.steps)-1]
	if why == "" {
		batch.calls = append(batch.calls, c)
		p.steps[len(p.steps)-1] = batch
		return
	}
	// The complaint is said before the calls are made: calls end the answer.
	p.steps = p.steps[:len(p.steps)-1]
	p.complain("/and %s", why)
	p.add(batch)
}

func readCall(rest string) (c call, why string) {
	name, args := cutWord(strings.TrimLeft(rest, " \t"))
	args = strings.TrimSpace(args)
	if name == "" {
		return call{}, "needs the name of a tool"
	}
	if args == "" {
		args = "{}"
	}
	if !isObject(args) {
		return call{}, fmt.Sprintf("%s: the arguments are not a JSON object", name)
	}
	return call{name: name, args: args}, ""
}

func isObject(s string) bool {
	return strings.HasPrefix(s, "{") && json.Valid([]byte(s))
}

func (p *parser) number(word string, o op, rest string, low, high int64) {
	n, err := strconv.ParseInt(strings.TrimSpace(rest), 10, 64)
	if err != nil || n < low || n > high {
		p.complain("%s wants a number from %d to %d", word, low, high)
		return
	}
	p.add(step{op: o, n: n})
}

func (p *parser) usage(rest string) {
	f := strings.Fields(rest)
	if len(f) == 2 {
		in, err1 := strconv.ParseInt(f[0], 10, 32)
		out, err2 := strconv.ParseInt(f[1], 10, 32)
		if err1 == nil && err2 == nil && in >= 0 && out >= 0 {
			p.add(step{op: opUsage, n: in, m: out})
			return
		}
	}
	p.complain("/usage wants two numbers, prompt and completion tokens")
}

func (p *parser) cost(rest string) {
	usd, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
	if err != nil || !(usd >= 0 && usd <= 1e6) {
		p.complain("/cost wants an amount in US dollars")
		return
	}
	p.add(step{op: opCost, n: int64(math.Round(usd * 1e6))})
}

// failure reads what a call fails with. A leading HTTP status, or the word
// context, makes it fail the way a real provider would.
func failure(rest string, once bool) step {
	s := step{op: opFail, text: strings.TrimSpace(rest), once: once}
	if s.text == "" {
		s.text = "failed as the script asked"
	}
	word, _ := cutWord(s.text)
	s.context = word == "context"
	if n, err := strconv.Atoi(word); err == nil && len(word) == 3 && n >= 400 && n <= 599 {
		s.status = n
	}
	return s
}

// cutWord splits off the first word; exactly one blank between is dropped.
func cutWord(s string) (word, rest string) {
	if i := strings.IndexAny(s, " \t"); i >= 0 {
		return s[:i], s[i+1:]
	}
	return s, ""
}

// looksLikeDirective tells "/sya" from "/home/me": a task may well begin with a path.
func looksLikeDirective(word string) bool {
	for _, r := range word[1:] {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-' && r != '_' {
			return false
		}
	}
	return len(word) > 1
}
