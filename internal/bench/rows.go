package bench

import (
	"fmt"
	"slices"
	"strings"
)

// Rows lists everything that can be measured, in the order of the table.
func Rows() []Row {
	return []Row{
		idleRow(), echoRow(), boardRow(), fanoutRow(), roomRow(), roomsRow(), durableRow(), relayRow(), eventlogRow(), streamRow(), busRow(), runRow(), boxRow(), keeperRow(), startRow(),
		tasksRow(), turnRow(), openaiRow(), mcpRow(), talkersRow(), appendRow(), searchRow(),
		handshakesRow(), tunnelRow(), fleetRow(), acrossRow(), pageRow(),
	}
}

// choose finds the rows with these names; none means all.
func choose(rows []Row, names []string) ([]Row, error) {
	if len(names) == 0 {
		return rows, nil
	}
	var chosen []Row
	for _, name := range names {
		i := slices.IndexFunc(rows, func(r Row) bool { return r.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no row %q; choose from %s", name, strings.Join(rowNames(rows), ", "))
		}
		chosen = append(chosen, rows[i])
	}
	return chosen, nil
}

func rowNames(rows []Row) []string {
	names := make([]string, len(rows))
	for i, r := range rows {
		names[i] = r.Name
	}
	return names
}
