package meeting

import (
	"slices"
	"strings"

	"parley.internal/protocol/mmp"
)

// ProposeExtensionPayload proposes an extension.
type ProposeExtensionPayload struct {
	Name        string   `json:"extension_name"`
	Version     string   `json:"extension_version"`
	Actions     []string `json:"actions"`
	Requires    []string `json:"requires"`
	Description string   `json:"description"`
	ContentHash string   `json:"content_hash"`
	Layer       string   `json:"layer,omitzero"`
}

// EvaluateExtensionPayload asks to see it.
type EvaluateExtensionPayload struct {
	Name        string `json:"extension_name"`
	ContentHash string `json:"content_hash"`
	Intent      string `json:"evaluation_intent"`
}

// ShareExtensionPayload is the document.
type ShareExtensionPayload struct {
	Name        string      `json:"extension_name"`
	Version     string      `json:"extension_version"`
	Content     string      `json:"content"`
	ContentHash string      `json:"content_hash"`
	Provenance  *Provenance `json:"provenance,omitzero"`
}

// AdoptExtensionPayload tells the proposer how it went.
type AdoptExtensionPayload struct {
	Name        string `json:"extension_name"`
	ContentHash string `json:"content_hash"`
	Layer       string `json:"adopted_layer"`
	Result      string `json:"evaluation_result"`
}

// The status words of evolution results.
const (
	EvolutionAlreadyHave = "already_have"
	EvolutionInterested  = "interested"
	EvolutionSharing     = "sharing"
	EvolutionNotFound    = "not_found"
	EvolutionAdopted     = "adopted"
	AdoptedLayer         = "L2"
)

// ReadProposeExtension reads a proposal.
func (m Message) ReadProposeExtension() (ProposeExtensionPayload, error) {
	o := m.payload()
	p := ProposeExtensionPayload{
		Name: o.Text("extension_name", mmp.MaxName), Version: o.Text("extension_version", mmp.MaxScope),
		Actions: o.Texts("actions", 200, mmp.MaxName), Requires: o.Texts("requires", 50, mmp.MaxName),
		Description: o.Text("description", mmp.MaxDescription), ContentHash: o.Text("content_hash", mmp.MaxID), Layer: o.Text("layer", mmp.MaxScope),
	}
	return p, o.Err()
}

// ReadEvaluateExtension reads a wish to see one.
func (m Message) ReadEvaluateExtension() (EvaluateExtensionPayload, error) {
	o := m.payload()
	p := EvaluateExtensionPayload{Name: o.Text("extension_name", mmp.MaxName), ContentHash: o.Text("content_hash", mmp.MaxID), Intent: o.Text("evaluation_intent", mmp.MaxReason)}
	return p, o.Err()
}

// ReadShareExtension reads a shared document.
func (m Message) ReadShareExtension() (ShareExtensionPayload, error) {
	o := m.payload()
	p := ShareExtensionPayload{
		Name: o.Text("extension_name", mmp.MaxName), Version: o.Text("extension_version", mmp.MaxScope), Content: o.Text("content", mmp.MaxMeetingBody),
		ContentHash: o.Text("content_hash", mmp.MaxID), Provenance: ReadProvenance(o, "provenance"),
	}
	return p, o.Err()
}

// ReadAdoptExtension reads how it went.
func (m Message) ReadAdoptExtension() (AdoptExtensionPayload, error) {
	o := m.payload()
	p := AdoptExtensionPayload{
		Name: o.Text("extension_name", mmp.MaxName), ContentHash: o.Text("content_hash", mmp.MaxID),
		Layer: o.Text("adopted_layer", mmp.MaxScope), Result: o.Text("evaluation_result", mmp.MaxReason),
	}
	return p, o.Err()
}

// ExtensionReason says why an extension is unsafe.
type ExtensionReason string

// The reasons, in the order they are looked for.
const (
	ExtInvalidFormat     ExtensionReason = "invalid_format"
	ExtInvalidName       ExtensionReason = "invalid_name"
	ExtBlockedActions    ExtensionReason = "blocked_actions"
	ExtSuspiciousActions ExtensionReason = "suspicious_actions"
	ExtTooManyActions    ExtensionReason = "too_many_actions"
	ExtCoreOverride      ExtensionReason = "core_action_override"
	ExtMissingDependency ExtensionReason = "missing_dependency"
	ExtIncompatible      ExtensionReason = "incompatible"
	ExtTooLarge          ExtensionReason = "too_large"
	ExtNotText           ExtensionReason = "not_text"
	ExtHashMissing       ExtensionReason = "hash_missing"
	ExtHashMismatch      ExtensionReason = "hash_mismatch"
	ExtHopLimit          ExtensionReason = "hop_limit"
)

// ExtensionProblem is one reason with what it is about.
type ExtensionProblem struct {
	Reason ExtensionReason `json:"reason"`
	Detail string          `json:"detail"`
}

var (
	blockedActions  = []string{"execute_code", "system_command", "file_write", "shell_exec", "eval", "require", "load"}
	suspiciousParts = []string{"exec", "eval", "system", "shell", "command"}
)

// ExtensionCheck is what is known about a proposed or shared extension.
type ExtensionCheck struct {
	Name, Version   string
	Actions         []string
	Requires        []string
	AllowUnprefixed bool
	Active          func(name string) bool // is it supported here; names are folded
	HaveVersion     string                 // ours of the same name, empty for none
}

// CheckExtension judges the claims of a proposal, or the definition of a document.
// No problem means only that a person may be asked.
func CheckExtension(c ExtensionCheck) []ExtensionProblem {
	var out []ExtensionProblem
	add := func(bad bool, r ExtensionReason, detail string) {
		if bad {
			out = append(out, ExtensionProblem{r, mmp.Clip(detail, 300)})
		}
	}
	d := Definition{Name: c.Name, Version: c.Version, Actions: c.Actions}
	if err := d.wellFormed(); err != nil {
		add(true, ExtInvalidFormat, err.Error())
	}
	add(!ValidCustomName(c.Name) && !c.AllowUnprefixed, ExtInvalidName, c.Name)
	blocked := among(c.Actions, func(a string) bool { return slices.Contains(blockedActions, a) })
	add(len(blocked) > 0, ExtBlockedActions, strings.Join(blocked, ", "))
	suspicious := among(c.Actions, looksLikeExecution)
	add(len(suspicious) > 0, ExtSuspiciousActions, strings.Join(suspicious, ", "))
	add(len(c.Actions) > mmp.MaxActions, ExtTooManyActions, "")
	core := among(c.Actions, IsCore)
	add(len(core) > 0, ExtCoreOverride, strings.Join(core, ", "))
	missing := among(c.Requires, func(r string) bool { return !c.Active(FoldExtension(r)) })
	add(len(missing) > 0, ExtMissingDependency, strings.Join(missing, ", "))
	add(c.HaveVersion != "" && major(c.HaveVersion) != major(c.Version), ExtIncompatible, c.Version)
	return out
}

func among(all []string, bad func(string) bool) []string {
	var out []string
	for _, s := range all {
		if bad(strings.ToLower(s)) {
			out = append(out, s)
		}
	}
	return out
}

// looksLikeExecution leaves blocked names to their own reason.
func looksLikeExecution(action string) bool {
	return !slices.Contains(blockedActions, action) &&
		slices.ContainsFunc(suspiciousParts, func(p string) bool { return strings.Contains(action, p) })
}

// CheckExtensionContent judges a shared document: its own head must pass
// [CheckExtension] and agree with the proposal, and the bytes with the hashes.
func CheckExtensionContent(c ExtensionCheck, p ShareExtensionPayload, proposedHash, sender, me string) (Provenance, []ExtensionProblem) {
	prov, err := CheckSkill(SkillCheck{
		Format: FormatMarkdown, Content: p.Content, ContentHash: p.ContentHash, OfferedHash: proposedHash,
		Provenance: p.Provenance, Sender: sender, Me: me,
	})
	if err != nil {
		return Provenance{}, []ExtensionProblem{{ExtensionReason(reasonOf(err)), err.Error()}}
	}
	d, err := ParseExtension(p.Content)
	if err != nil {
		return Provenance{}, []ExtensionProblem{{ExtInvalidFormat, err.Error()}}
	}
	if d.Name != c.Name || c.Version != "" && d.Version != c.Version {
		return Provenance{}, []ExtensionProblem{{ExtInvalidFormat, "the document is another extension than was proposed"}}
	}
	c.Version, c.Actions, c.Requires = d.Version, d.Actions, d.Requires
	return prov, CheckExtension(c)
}
