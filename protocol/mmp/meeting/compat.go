package meeting

import (
	"slices"
	"strconv"
	"strings"

	"parley.internal/protocol/mmp"
)

// How well two agents understand each other.
const (
	CompatFull         = "full"
	CompatBasic        = "basic"
	CompatMinimal      = "minimal"
	CompatIncompatible = "incompatible"
)

// major reads the first number of a version; a version that tells none is ours.
func major(version string) int {
	head, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(version), "v"), ".")
	n, err := strconv.Atoi(head)
	if err != nil {
		return 1
	}
	return n
}

// SameMajor tells whether a peer's version can be talked to; an empty one can.
func SameMajor(version string) bool { return major(version) == major(mmp.ProtocolVersion) }

// Compatibility judges a peer by its version, the extensions both have and the
// actions it supports.
func Compatibility(version string, common, actions []string) string {
	switch {
	case !SameMajor(version):
		return CompatIncompatible
	case slices.ContainsFunc(common, func(e string) bool { return FoldExtension(e) == ExtensionSkillExchange }):
		return CompatFull
	case slices.Contains(actions, ActionIntroduce) && slices.Contains(actions, ActionGoodbye):
		return CompatBasic
	}
	return CompatMinimal
}

// Fallback finds an action the peer supports in place of one it does not; what
// has none falls back to introducing oneself.
func Fallback(action string, supported func(string) bool) string {
	chain := []string{action}
	switch action {
	case "discuss", "debate":
		chain = append(chain, ActionReflect)
	case "negotiate":
		chain = append(chain, ActionOfferSkill)
	}
	for _, candidate := range chain {
		if supported(candidate) {
			return candidate
		}
	}
	return ActionIntroduce
}
