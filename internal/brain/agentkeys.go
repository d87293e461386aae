package brain

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// keyOrder is the order keys are written and listed in.
var keyOrder = []string{
	"description", "model", "thinking", "tools", "guest_tools", "auto_approve", "skills", "mcps", "members",
	"senders", "owner", "workspace", "max_iterations", "run_timeout", "compact_threshold", "compact_model",
	"compact_tool_max_len", "recall", "auto_title", "temperature", "max_output_tokens", "budget",
	"mode", "require_approval", "approval_timeout", "place", "deposit",
}

// agentKeys reads one key each.
var agentKeys = map[string]func(*Agent, *yaml.Node) error{
	"description":          func(a *Agent, n *yaml.Node) error { return readString(n, &a.Description) },
	"model":                func(a *Agent, n *yaml.Node) error { return readString(n, &a.Model) },
	"thinking":             readThinking,
	"tools":                func(a *Agent, n *yaml.Node) error { return readList(n, &a.Tools) },
	"guest_tools":          func(a *Agent, n *yaml.Node) error { return readList(n, &a.GuestTools) },
	"auto_approve":         func(a *Agent, n *yaml.Node) error { return readList(n, &a.AutoApprove) },
	"skills":               func(a *Agent, n *yaml.Node) error { return readList(n, &a.Skills) },
	"mcps":                 func(a *Agent, n *yaml.Node) error { return readList(n, &a.MCPs) },
	"members":              func(a *Agent, n *yaml.Node) error { return readList(n, &a.Members) },
	"senders":              func(a *Agent, n *yaml.Node) error { return readList(n, &a.Senders) },
	"owner":                func(a *Agent, n *yaml.Node) error { return readString(n, &a.Owner) },
	"workspace":            func(a *Agent, n *yaml.Node) error { return readString(n, &a.Workspace) },
	"max_iterations":       func(a *Agent, n *yaml.Node) error { return readInt(n, &a.MaxIterations, 1, 1000) },
	"run_timeout":          func(a *Agent, n *yaml.Node) error { return readDuration(n, &a.RunTimeout) },
	"compact_threshold":    func(a *Agent, n *yaml.Node) error { return readThreshold(n, &a.Compact) },
	"compact_model":        func(a *Agent, n *yaml.Node) error { return readString(n, &a.CompactModel) },
	"compact_tool_max_len": func(a *Agent, n *yaml.Node) error { return readInt(n, &a.CompactToolMaxLen, 0, 1<<20) },
	"recall":               func(a *Agent, n *yaml.Node) error { return readSwitch(n, &a.RecallAuto, "auto") },
	"auto_title":           func(a *Agent, n *yaml.Node) error { return readSwitch(n, &a.AutoTitle, "model") },
	"temperature":          readTemperature,
	"max_output_tokens":    func(a *Agent, n *yaml.Node) error { return readInt(n, &a.MaxOutputTokens, 1, 1<<30) },
	"budget":               readBudget,
	"approval_timeout":     func(a *Agent, n *yaml.Node) error { return readWait(n, &a.ApprovalTimeout) },
	"mode":                 readMode,
	"require_approval":     func(a *Agent, n *yaml.Node) error { return readList(n, &a.RequireApproval) },
	"place":                func(a *Agent, n *yaml.Node) error { return readBool(n, &a.Place) },
	"deposit":              func(a *Agent, n *yaml.Node) error { return readBool(n, &a.Deposit) },
}

// budgetKeys reads the keys inside budget.
var budgetKeys = map[string]func(*Budget, *yaml.Node) error{
	"run_usd":    func(b *Budget, n *yaml.Node) error { return readUSD(n, &b.RunMicros) },
	"run_tokens": func(b *Budget, n *yaml.Node) error { return readTokens(n, &b.RunTokens) },
	"day_usd":    func(b *Budget, n *yaml.Node) error { return readUSD(n, &b.DayMicros) },
	"day_tokens": func(b *Budget, n *yaml.Node) error { return readTokens(n, &b.DayTokens) },
	"month_usd":  func(b *Budget, n *yaml.Node) error { return readUSD(n, &b.MonthMicros) },
	"hard":       func(b *Budget, n *yaml.Node) error { return readBool(n, &b.Hard) },
}

var budgetOrder = []string{"run_usd", "run_tokens", "day_usd", "day_tokens", "month_usd", "hard"}

func readBudget(a *Agent, n *yaml.Node) error {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.MappingNode {
		return errors.New("want keys like run_usd and day_tokens under it")
	}
	err := eachKey(n, "budget.", func(key string, value *yaml.Node) error {
		read, known := budgetKeys[key]
		if !known {
			return unknownKey("budget."+key, budgetOrder)
		}
		if isNull(value) {
			return nil
		}
		return read(&a.Budget, value)
	})
	if err != nil {
		return &nestedError{err}
	}
	return nil
}

func readString(n *yaml.Node, to *string) error {
	if n.Kind != yaml.ScalarNode {
		return errors.New("want text")
	}
	*to = strings.TrimSpace(n.Value)
	return nil
}

// readWord reads one of the words; off (or false) is the empty one.
func readWord(n *yaml.Node, to *string, words ...string) error {
	s := strings.ToLower(strings.TrimSpace(n.Value))
	if n.Kind == yaml.ScalarNode && slices.Contains([]string{"off", "false", "no", "none"}, s) {
		*to = ""
		return nil
	}
	if n.Kind != yaml.ScalarNode || !slices.Contains(words, s) {
		return fmt.Errorf("want off or one of %s", strings.Join(words, ", "))
	}
	*to = s
	return nil
}

// readThinking reads how much a model thinks. Clients of the original protocol know only
// whether it does: true is the middle.
func readThinking(a *Agent, n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode && slices.Contains([]string{"on", "true", "yes"}, strings.ToLower(n.Value)) {
		a.Thinking = "medium"
		return nil
	}
	return readWord(n, &a.Thinking, "low", "medium", "high")
}

func readSwitch(n *yaml.Node, to *bool, on string) error {
	var word string
	if err := readWord(n, &word, on); err != nil {
		return err
	}
	*to = word == on
	return nil
}

func readBool(n *yaml.Node, to *bool) error {
	if n.Decode(to) != nil {
		return errors.New("want true or false")
	}
	return nil
}

// readList reads a list of names; a single name will do.
func readList(n *yaml.Node, to *[]string) error {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	items := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		items = n.Content
	}
	list := []string{}
	for _, item := range items {
		s := strings.TrimSpace(item.Value)
		if item.Kind != yaml.ScalarNode || item.Tag == "!!null" || s == "" {
			return errors.New("want a list of names")
		}
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	*to = list
	return nil
}

func readInt(n *yaml.Node, to *int, low, high int) error {
	i, err := strconv.Atoi(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil || i < low || i > high {
		return fmt.Errorf("want a whole number from %d to %d", low, high)
	}
	*to = i
	return nil
}

func readDuration(n *yaml.Node, to *time.Duration) error {
	d, err := time.ParseDuration(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil || d <= 0 || d > 24*time.Hour {
		return errors.New("want a time like 30m or 1h30m, at most 24h")
	}
	*to = d
	return nil
}

// readWait reads how long somebody is waited for: 12h, or days as 7d.
func readWait(n *yaml.Node, to *time.Duration) error {
	text, day := strings.CutSuffix(n.Value, "d")
	if days, err := strconv.Atoi(text); day && err == nil && days <= 30 {
		text = strconv.Itoa(days*24) + "h"
	} else {
		text = n.Value
	}
	d, err := time.ParseDuration(text)
	if n.Kind != yaml.ScalarNode || err != nil || d < time.Second || d > 30*24*time.Hour {
		return errors.New("want a time like 12h or 7d, from 1s to 30d")
	}
	*to = d
	return nil
}

func readThreshold(n *yaml.Node, to *Threshold) error {
	const want = "want off, a share like 80%, or a number of tokens"
	if n.Kind != yaml.ScalarNode {
		return errors.New(want)
	}
	s := strings.ToLower(strings.TrimSpace(n.Value))
	if s == "off" || s == "false" || s == "never" {
		*to = Threshold{Off: true}
		return nil
	}
	if p, ok := strings.CutSuffix(s, "%"); ok {
		i, err := strconv.Atoi(strings.TrimSpace(p))
		if err != nil || i < 1 || i > 100 {
			return errors.New(want)
		}
		*to = Threshold{Percent: i}
		return nil
	}
	i, err := strconv.ParseUint(s, 10, 31)
	if err != nil || i == 0 {
		return errors.New(want)
	}
	*to = Threshold{Tokens: int64(i)}
	return nil
}

func readTemperature(a *Agent, n *yaml.Node) error {
	f, err := strconv.ParseFloat(n.Value, 64)
	if n.Kind != yaml.ScalarNode || err != nil || !(f >= 0 && f <= 2) {
		return errors.New("want a number from 0 to 2")
	}
	a.Temperature = &f
	return nil
}

func readUSD(n *yaml.Node, to *int64) error {
	f, err := strconv.ParseFloat(n.Value, 64)
	if n.Kind != yaml.ScalarNode || err != nil || !(f > 0 && f <= 1e9) {
		return errors.New("want an amount in US dollars above 0")
	}
	*to = max(int64(math.Round(f*1e6)), 1)
	return nil
}

func readTokens(n *yaml.Node, to *int64) error {
	i, err := strconv.ParseInt(n.Value, 10, 64)
	if n.Kind != yaml.ScalarNode || err != nil || i < 1 {
		return errors.New("want a number of tokens above 0")
	}
	*to = i
	return nil
}

func readMode(a *Agent, n *yaml.Node) error {
	s := strings.ReplaceAll(strings.TrimSpace(n.Value), "-", "_")
	if n.Kind != yaml.ScalarNode || !slices.Contains([]string{"always_ask", "agent_decides", "always_execute"}, s) {
		return errors.New("want always_ask, agent_decides or always_execute")
	}
	a.Mode = s
	return nil
}

type unknownKeyError struct{ text string }

func (e *unknownKeyError) Error() string { return e.text }

func unknownKey(key string, known []string) error {
	_, last, _ := strings.Cut(key, ".")
	if last == "" {
		last = key
	}
	for _, k := range known {
		if distance(last, k) <= 2 {
			return &unknownKeyError{fmt.Sprintf("unknown key %q; did you mean %q?", key, k)}
		}
	}
	return &unknownKeyError{fmt.Sprintf("unknown key %q; known are %s", key, strings.Join(known, ", "))}
}

// distance is how many letters must be added, dropped or changed.
func distance(a, b string) int {
	if len(a) > 64 {
		return len(a)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
