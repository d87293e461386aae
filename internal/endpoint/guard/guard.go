package guard

import (
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/internal/endpoint/truepath"
	wire "parley.internal/protocol/kenny"
	"parley.internal/protocol/kenny/policy"
)

// Guard judges calls. It may be used by many goroutines at once.
type Guard struct {
	os      wire.OS
	log     *slog.Logger
	own     []wire.Rule // protects this installation's folders
	builtin *policy.Set
	inForce atomic.Pointer[policy.Set]
}

// New makes a guard with the built-in rules in force. They know the usual
// folders of an endpoint; folders names the ones of this installation, which
// may be elsewhere.
func New(os wire.OS, log *slog.Logger, folders ...string) *Guard {
	g := &Guard{os: os, log: log, builtin: policy.Builtin()}
	for _, f := range folders {
		g.own = append(g.own, protect(f))
	}
	set, _ := g.builtin.WithOperator(g.own)
	g.inForce.Store(set)
	return g
}

// protect makes the rule that keeps paths and scripts out of a folder.
func protect(folder string) wire.Rule {
	spelled := regexp.QuoteMeta(strings.TrimRight(folder, `\/`))
	spelled = strings.NewReplacer("/", `[\\/]+`, `\\`, `[\\/]+`).Replace(spelled)
	return wire.Rule{
		ID: "self.folder", AppliesTo: wire.AppliesSelfProtection,
		Pattern: `(?i)` + spelled + `(?:$|[\\/\s"'\x60;|&)*])`,
		Reason:  "touches the endpoint's key, configuration or switch",
	}
}

// SetOperator puts an operator's rules in force in place of earlier ones, all
// at once. Those that do not compile are skipped; the built-in ones stay.
func (g *Guard) SetOperator(rules []wire.Rule) {
	set, skipped := g.builtin.WithOperator(slices.Concat(g.own, rules))
	g.inForce.Store(set)
	for _, s := range skipped {
		g.log.Warn("operator rule skipped", "rule", s.Rule.ID, "error", s.Err)
	}
	g.log.Info("operator rules in force", "rules", len(rules)-len(skipped), "skipped", len(skipped))
}

// CheckCall judges a call by its text and, for file tools, by where the path
// leads now. The error is a [*wire.Error] with [wire.CodeBlocked].
func (g *Guard) CheckCall(call, tool string, args jsontext.Value) error {
	rule, hit := g.inForce.Load().CheckCall(g.os, tool, args)
	return g.verdict(call, tool, rule, hit)
}

// CheckFile judges a path together with where the opened file really is.
func (g *Guard) CheckFile(call, tool, given string, final ...string) error {
	rule, hit := g.inForce.Load().CheckPath(g.os, given, final...)
	return g.verdict(call, tool, rule, hit)
}

// CheckWay judges a path together with where its existing part leads.
func (g *Guard) CheckWay(call, tool, given string) error {
	return g.CheckFile(call, tool, given, truepath.Resolve(given))
}

// Refuses reports whether a path that was come across would be refused; for
// walks, which pass over it silently.
func (g *Guard) Refuses(path string, final ...string) bool {
	_, hit := g.inForce.Load().CheckPath(g.os, path, final...)
	return hit
}

// CheckUpdate judges the address of an update.
func (g *Guard) CheckUpdate(address string, hosts []string) error {
	rule, hit := policy.CheckUpdateURL(address, hosts)
	return g.verdict("", "agent_update", rule, hit)
}

// verdict logs a refusal: the rule and the call, never its text.
func (g *Guard) verdict(call, tool string, rule policy.Rule, hit bool) error {
	if !hit {
		return nil
	}
	g.log.Warn("call refused by the safety guard", "rule", rule.ID, "call", call, "tool", tool)
	return &wire.Error{Code: wire.CodeBlocked, Message: rule.Refusal()}
}
