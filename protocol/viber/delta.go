package viber

import "strings"

// FirstSeq is the first event number that a delta stands for.
func (d *TaskDelta) FirstSeq() int64 {
	if d.FromSeq != 0 {
		return d.FromSeq
	}
	return d.Seq
}

// Joins reports whether next goes on where d ends: the text of the same turn of
// the same task, with no event between.
func (d *TaskDelta) Joins(next *TaskDelta) bool {
	return d.DeltaType == DeltaText && next.DeltaType == DeltaText &&
		d.TaskID == next.TaskID && d.Turn == next.Turn && d.Seq != 0 && next.FirstSeq() == d.Seq+1
}

// MergeText makes one delta of neighbouring text deltas, none with more than max
// bytes of text unless it came so. What it returns in their place is new; nothing
// else is changed or moved.
func MergeText(deltas []*TaskDelta, max int) []*TaskDelta {
	out := make([]*TaskDelta, 0, len(deltas))
	for i := 0; i < len(deltas); {
		n, size := 1, len(deltas[i].Text)
		for i+n < len(deltas) && deltas[i+n-1].Joins(deltas[i+n]) && size+len(deltas[i+n].Text) <= max {
			size += len(deltas[i+n].Text)
			n++
		}
		out = append(out, joined(deltas[i:i+n], size))
		i += n
	}
	return out
}

func joined(run []*TaskDelta, size int) *TaskDelta {
	if len(run) == 1 {
		return run[0]
	}
	var text strings.Builder
	text.Grow(size)
	for _, d := range run {
		text.WriteString(d.Text)
	}
	merged := *run[len(run)-1]
	merged.Text, merged.FromSeq = text.String(), run[0].FirstSeq()
	return &merged
}
