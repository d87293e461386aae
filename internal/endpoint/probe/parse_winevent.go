package probe

import "parley.internal/internal/fit"

// winEvent is an entry as our PowerShell gives it.
type winEvent struct {
	Time    string `json:"time"`
	Level   int    `json:"level"`
	Source  string `json:"source"`
	Message string `json:"message"`
}

// parseWinEvents turns Windows' level numbers into words; its own words depend
// on the language.
func parseWinEvents(data []byte) ([]Event, error) {
	list, err := items[winEvent](data)
	if err != nil {
		return nil, err
	}
	var out []Event
	for _, e := range list {
		out = append(out, Event{Time: e.Time, Level: windowsLevel(e.Level), Source: e.Source, Message: fit.Cut(e.Message, maxMessage)})
	}
	return out, nil
}

func windowsLevel(n int) string {
	switch n {
	case 1:
		return levelCritical
	case 2:
		return levelError
	case 3:
		return levelWarning
	case 5:
		return levelDebug
	}
	return levelInfo // 0 is "always", 4 is information
}
