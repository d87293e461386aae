package meeting

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley.internal/protocol/mmp"
)

func TestExtensionsInCommon(t *testing.T) {
	for _, c := range []struct{ ours, theirs, want []string }{
		{[]string{"skill_exchange", "discussion"}, []string{"skill_exchange", "negotiation"}, []string{"skill_exchange"}},
		{[]string{"skill_exchange", "core"}, []string{"meeting_protocol_skill_exchange", "skill_exchange"}, []string{"meeting_protocol_skill_exchange"}},
		{[]string{"meeting_protocol_core"}, []string{"core"}, []string{"core"}},
		{[]string{"discussion"}, []string{"meeting_protocol_discussion"}, []string{}},
		{nil, []string{"core"}, []string{}},
	} {
		if d := cmp.Diff(c.want, CommonExtensions(c.ours, c.theirs)); d != "" {
			t.Errorf("%v: %s; want no difference", c, d)
		}
	}
	if len(ExtensionAliases()) != 3 {
		t.Error("aliases")
	}
}

func definition(name, head string) string {
	return "---\nname: " + name + "\nversion: 1.0.0\ntype: mmp_extension\n" + head + "---\n# " + name + "\n"
}

func TestExtensionDefinitions(t *testing.T) {
	doc := definition("discussion", "actions:\n  - propose\n  - support\nrequires:\n  - meeting_protocol_core\n")
	d, err := ParseExtension(doc)
	want := Definition{Name: "discussion", Version: "1.0.0", Type: "mmp_extension", Actions: []string{"propose", "support"}, Requires: []string{"core"}, Hash: mmp.HashOf(doc)}
	if diff := cmp.Diff(want, d); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for name, doc := range map[string]string{
		"no head": "# X", "no name": definition("", ""), "no type": "---\nname: a.b\nversion: 1.0.0\n---\n",
		"bad type":    strings.Replace(definition("a.b", ""), "mmp_extension", "plugin", 1),
		"bad version": strings.Replace(definition("a.b", ""), "1.0.0", "new", 1),
		"bad action":  definition("a.b", "actions: [\"Do It\"]\n"), "nested": definition("a.b", "actions: [{x: 1}]\n"),
		"binary": "---\x00", "huge": strings.Repeat("x", mmp.MaxSkill+1),
	} {
		if _, err := ParseExtension(doc); !errors.Is(err, ErrFrontMatter) {
			t.Errorf("%s: %v; want ErrFrontMatter", name, err)
		}
	}
}

func TestExtensionsLoadByDependency(t *testing.T) {
	defs := append([]Definition{
		{Name: "a.late", Requires: []string{"a.early"}, Actions: []string{"late", "propose"}},
		{Name: "a.early", Requires: []string{"core"}},
		{Name: "a.missing", Requires: []string{"a.nowhere"}},
		{Name: "a.behind", Requires: []string{"a.missing"}},
		{Name: "a.x", Requires: []string{"a.y"}},
		{Name: "a.y", Requires: []string{"a.x"}},
		{Name: "a.early"},
		{Name: "meeting_protocol_core"},
	}, StandardExtensions()...)
	l := LoadExtensions(defs)
	var names []string
	for _, d := range l.Active {
		names = append(names, d.Name)
	}
	if names[0] != "meeting_protocol_core" || slices.Index(names, "a.early") > slices.Index(names, "a.late") || slices.Index(names, "a.early") < 0 {
		t.Error(names)
	}
	off := map[string]string{}
	for _, o := range l.Off {
		off[o.Name] = o.Reason
	}
	for name, part := range map[string]string{
		"a.missing": "a.nowhere, which is not here", "a.behind": "circle, or something", "a.x": "circle", "a.y": "circle",
		"a.early": "loaded first", "core": "loaded first",
	} {
		if !strings.Contains(off[name], part) {
			t.Errorf("%s: %q; want strings.Contains(off[name], part)", name, off[name])
		}
	}
	if l.Owner["propose"] != "discussion" || l.Owner["late"] != "a.late" {
		t.Errorf("%v; want l.Owner[\"propose\"] to be \"discussion\", l.Owner[\"late\"] to be \"a.late\"", l.Owner)
	}
	if l := LoadExtensions(StandardExtensions()); len(l.Active) != 5 || len(l.Off) != 0 || len(l.Owner) != 3+6+4+4+4 {
		t.Errorf("%+v", l)
	}
}

func TestExtensionSafety(t *testing.T) {
	good := ExtensionCheck{Name: "org.example.tea", Version: "1.0.0", Actions: []string{"brew"}, Requires: []string{"core"}, Active: func(n string) bool { return n == "core" }}
	for name, c := range map[string]struct {
		change func(*ExtensionCheck)
		want   ExtensionReason
	}{
		"good":            {func(*ExtensionCheck) {}, ""},
		"alias":           {func(c *ExtensionCheck) { c.Requires = []string{"meeting_protocol_core"} }, ""},
		"no version":      {func(c *ExtensionCheck) { c.Version = "" }, ExtInvalidFormat},
		"action":          {func(c *ExtensionCheck) { c.Actions = []string{"Brew Tea"} }, ExtInvalidFormat},
		"name":            {func(c *ExtensionCheck) { c.Name = "tea" }, ExtInvalidName},
		"path":            {func(c *ExtensionCheck) { c.Name = "../tea" }, ExtInvalidName},
		"long":            {func(c *ExtensionCheck) { c.Name = "a." + strings.Repeat("b", 90) }, ""},
		"name allowed":    {func(c *ExtensionCheck) { c.Name = "tea"; c.AllowUnprefixed = true }, ""},
		"blocked":         {func(c *ExtensionCheck) { c.Actions = []string{"shell_exec"} }, ExtBlockedActions},
		"suspicious":      {func(c *ExtensionCheck) { c.Actions = []string{"tea_command"} }, ExtSuspiciousActions},
		"too many":        {func(c *ExtensionCheck) { c.Actions = manyActions(21) }, ExtTooManyActions},
		"twenty":          {func(c *ExtensionCheck) { c.Actions = manyActions(20) }, ""},
		"core":            {func(c *ExtensionCheck) { c.Actions = []string{"goodbye"} }, ExtCoreOverride},
		"dependency":      {func(c *ExtensionCheck) { c.Requires = []string{"a.b"} }, ExtMissingDependency},
		"other major":     {func(c *ExtensionCheck) { c.HaveVersion = "2.0.0" }, ExtIncompatible},
		"newer minor":     {func(c *ExtensionCheck) { c.HaveVersion = "1.3.0" }, ""},
		"name and action": {func(c *ExtensionCheck) { c.Name = "x"; c.Actions = []string{"eval"} }, ExtInvalidName},
	} {
		check := good
		c.change(&check)
		var first ExtensionReason
		if problems := CheckExtension(check); len(problems) > 0 {
			first = problems[0].Reason
		}
		if first != c.want {
			t.Errorf("%s: %q; want %v", name, first, c.want)
		}
	}
}

func manyActions(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("act%d", i))
	}
	return out
}

func TestExtensionContentMustBeWhatWasProposed(t *testing.T) {
	doc := definition("org.example.tea", "actions: [brew]\nrequires: [core]\n")
	check := ExtensionCheck{Name: "org.example.tea", Version: "1.0.0", Active: func(n string) bool { return n == "core" }}
	share := ShareExtensionPayload{Name: check.Name, Version: "1.0.0", Content: doc, ContentHash: mmp.HashOf(doc).Prefixed()}
	for name, c := range map[string]struct {
		change func(*ShareExtensionPayload)
		want   ExtensionReason
	}{
		"good":          {func(*ShareExtensionPayload) {}, ""},
		"hash":          {func(p *ShareExtensionPayload) { p.Content += " " }, ExtHashMismatch},
		"no hash":       {func(p *ShareExtensionPayload) { p.ContentHash = "" }, ExtHashMissing},
		"too far":       {func(p *ShareExtensionPayload) { p.Provenance = &Provenance{HopCount: 9} }, ExtHopLimit},
		"other name":    {func(p *ShareExtensionPayload) { refill(p, definition("org.example.coffee", "")) }, ExtInvalidFormat},
		"hidden action": {func(p *ShareExtensionPayload) { refill(p, definition("org.example.tea", "actions: [eval]\n")) }, ExtBlockedActions},
		"no head":       {func(p *ShareExtensionPayload) { refill(p, "# hi") }, ExtInvalidFormat},
		"large":         {func(p *ShareExtensionPayload) { refill(p, strings.Repeat("x", mmp.MaxSkill+1)) }, ExtTooLarge},
	} {
		p := share
		c.change(&p)
		_, problems := CheckExtensionContent(check, p, "", "ada", "bob")
		var first ExtensionReason
		if len(problems) > 0 {
			first = problems[0].Reason
		}
		if first != c.want {
			t.Errorf("%s: %+v; want %v", name, problems, c.want)
		}
	}
	if _, problems := CheckExtensionContent(check, share, mmp.HashOf("other").Prefixed(), "ada", "bob"); len(problems) == 0 || problems[0].Reason != ExtHashMismatch {
		t.Errorf("%+v; want len(problems) not to be 0, problems[0].Reason to be %v", problems, ExtHashMismatch)
	}
}

func refill(p *ShareExtensionPayload, doc string) {
	p.Content, p.ContentHash = doc, mmp.HashOf(doc).Prefixed()
}

func TestEvolutionPayloads(t *testing.T) {
	for _, c := range []struct {
		payload any
		read    func(Message) (any, error)
	}{
		{ProposeExtensionPayload{Name: "a.b", Version: "1.0.0", Actions: []string{"x"}, Requires: []string{"core"}, ContentHash: "h"}, func(m Message) (any, error) { return m.ReadProposeExtension() }},
		{EvaluateExtensionPayload{"a.b", "h", "curious"}, func(m Message) (any, error) { return m.ReadEvaluateExtension() }},
		{ShareExtensionPayload{Name: "a.b", Content: "c", Provenance: &Provenance{Origin: "a", Chain: []string{"a"}}}, func(m Message) (any, error) { return m.ReadShareExtension() }},
		{AdoptExtensionPayload{"a.b", "h", AdoptedLayer, "fine"}, func(m Message) (any, error) { return m.ReadAdoptExtension() }},
	} {
		m, err := NewMessage("x", "a", "b", c.payload, vectorTime)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.read(m)
		if d := cmp.Diff(c.payload, got); d != "" || err != nil {
			t.Error(d, err)
		}
	}
}

func TestStatesFollowTheirTables(t *testing.T) {
	for _, c := range []struct {
		side ExchangeSide
		path []ExchangeState
	}{
		{SideOffering, []ExchangeState{"", ExOffered, ExAccepted, ExSent, ExClosed}},
		{SideReceiving, []ExchangeState{"", ExOfferReceived, ExAccepted, ExChecked, ExQuarantined, ExRejected}},
		{SideRequesting, []ExchangeState{"", ExRequested, ExReceiving}},
		{SideOffering, []ExchangeState{"", ExOffered, ExDeclined}},
		{SideReceiving, []ExchangeState{"", ExOfferReceived, ExAccepted, ExFailed}},
	} {
		for i := 1; i < len(c.path); i++ {
			if !c.path[i-1].CanBecome(c.path[i], c.side) {
				t.Errorf("%s: %s to %s", c.side, c.path[i-1], c.path[i])
			}
			if c.path[i].CanBecome(c.path[i-1], c.side) {
				t.Errorf("%s goes back from %s", c.side, c.path[i])
			}
		}
		if last := c.path[len(c.path)-1]; !last.Final() || last.CanBecome(ExFailed, c.side) {
			t.Errorf("%s is not final", last)
		}
	}
	if ExOfferReceived.CanBecome(ExApproved, SideReceiving) || ExAccepted.CanBecome(ExSent, SideReceiving) {
		t.Error("a short cut")
	}
	if ExAccepted.TimeLimit(true) != 2*time.Hour || ExAccepted.TimeLimit(false) != 10*time.Minute || ExClosed.TimeLimit(true) != 0 ||
		ExQuarantined.WhenLate() != ExRejected || ExOffered.WhenLate() != ExExpired || ExSent.WhenLate() != ExClosed || ExAccepted.WhenLate() != ExFailed {
		t.Error("time limits")
	}
	if ExtPendingPromotion.CanBecome(ExtPromoted, false) || !ExtPendingPromotion.CanBecome(ExtPromoted, true) || ExtAdopted.CanBecome(ExtPromoted, true) ||
		!ExtPromoted.CanBecome(ExtDisabled, true) || ExtPromoted.CanBecome(ExtRejected, true) || !ExtPending.CanBecome(ExtRejected, false) ||
		ExtAdopted.Active() || !ExtPromoted.Active() || ExtDisabled.CanBecome(ExtPromoted, false) {
		t.Error("extension states")
	}
}
