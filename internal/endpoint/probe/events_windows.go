package probe

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Events reads the newest entries of a Windows log.
func Events(ctx context.Context, log string, count int) ([]Event, error) {
	script := `$list=@(); try { $list=@(Get-WinEvent -LogName ` + Quote(log) + ` -MaxEvents ` + strconv.Itoa(count) + `) } catch { if ($_.FullyQualifiedErrorId -notlike 'NoMatchingEventsFound*') { throw } }; ` +
		`ConvertTo-Json -Depth 3 -Compress @{items=@($list | ForEach-Object { @{time=$_.TimeCreated.ToUniversalTime().ToString('o'); level=[int]$_.Level; source=[string]$_.ProviderName; message=[string]$_.Message} })}`
	out, err := PowerShell(ctx, script)
	if err != nil {
		return nil, fmt.Errorf("log %q: %w", strings.TrimSpace(log), err)
	}
	return parseWinEvents(out)
}
