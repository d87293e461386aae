package agentfirst

// How a turn can end, as [HistoryMessage] tells it with the turn's last words.
const (
	OutcomeComplete    = "complete"
	OutcomeCut         = "cut"
	OutcomeCancelled   = "cancelled"
	OutcomeInterrupted = "interrupted"
	OutcomeFailed      = "failed"
)

// OutcomeText says how a turn ended to whoever reads its words; empty for one that is
// complete, and for messages that end none.
func OutcomeText(outcome, code string) string {
	var text string
	switch outcome {
	case OutcomeCut:
		text = "cut short"
	case OutcomeCancelled:
		return "cancelled"
	case OutcomeInterrupted:
		return "interrupted: the hub ended meanwhile"
	case OutcomeFailed:
		text = "failed"
	default:
		return ""
	}
	if code != "" {
		text += ": " + code
	}
	return text
}
