package talk

import (
	"context"
	"slices"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/brain/tool"
	"parley.internal/internal/identity"
	"parley.internal/internal/talk/memory"
)

// Bounds of one look at what tools did.
const (
	mostToolUses  = 500
	mostToolBytes = 4 << 20
	// toolOutput is how much of one output is shown.
	toolOutput = 16 << 10
)

// ToolUse is a tool call of a stored message, with what came of it.
type ToolUse struct {
	// Seq is the number of the message that made the call.
	Seq   int64
	Run   string
	Agent string
	model.Call
	Output string
	// LeftOut is how many bytes of the output are not shown.
	LeftOut int
	Failed  bool
	// Answered is false while the tool is at work, or when it was cut short.
	Answered bool
}

// ToolUses gives what tools did between two numbers, oldest first. Of too many the
// newest are given, and truncated is true.
func (t *Talk) ToolUses(ctx context.Context, who identity.Actor, id string, after, before int64) (list []ToolUse, truncated bool, err error) {
	c, err := t.get(ctx, who, id)
	if err != nil {
		return nil, false, err
	}
	if before <= 0 {
		before = c.LastSeq + 1
	}
	u := &toolUses{results: map[string]memory.Message{}, room: mostToolBytes}
	for before > after+1 && !u.full {
		page, err := t.d.Memory.Messages(ctx, id, memory.Range{After: after, Before: before, Limit: attachPage})
		if err != nil {
			return nil, false, err
		}
		if len(page) == 0 {
			break
		}
		before = page[0].Seq
		for _, m := range slices.Backward(page) {
			u.collect(m)
		}
	}
	slices.Reverse(u.list)
	return u.list, u.full, nil
}

// toolUses reads backwards: a result comes before its call.
type toolUses struct {
	results map[string]memory.Message
	list    []ToolUse
	room    int
	full    bool
}

func (u *toolUses) collect(m memory.Message) {
	if m.Role == model.Tool {
		u.results[m.CallID] = m
		return
	}
	for _, call := range slices.Backward(m.Calls) {
		use := ToolUse{Seq: m.Seq, Run: m.Run, Agent: m.Agent, Call: call}
		if r, ok := u.results[call.ID]; ok {
			delete(u.results, call.ID)
			use.Output, use.LeftOut = tool.Clip(r.Text, toolOutput)
			use.Failed, use.Answered = r.IsError, true
		}
		u.room -= len(use.Output) + len(call.Arguments)
		if u.full = u.full || u.room < 0 || len(u.list) == mostToolUses; u.full {
			return
		}
		u.list = append(u.list, use)
	}
}
