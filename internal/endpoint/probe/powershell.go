package probe

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"parley.internal/internal/endpoint/command"
)

// psPrelude makes PowerShell speak UTF-8 and show no progress bars.
const psPrelude = "$ErrorActionPreference='Stop'; $ProgressPreference='SilentlyContinue'; [Console]::OutputEncoding=[Text.Encoding]::UTF8; "

// PowerShell runs a script of ours and gives what it printed.
func PowerShell(ctx context.Context, script string) ([]byte, error) {
	return command.Output(ctx, "powershell.exe", powershellArgs(script)...)
}

func powershellArgs(script string) []string {
	return []string{"-NoLogo", "-NoProfile", "-NonInteractive", "-ExecutionPolicy", "Bypass", "-Command", psPrelude + script}
}

// items reads the answer of scripts that end in `ConvertTo-Json @{items=@(…)}`:
// the wrapping keeps PowerShell from turning a list of one into its entry.
func items[T any](data []byte) ([]T, error) {
	var answer struct {
		Items []T `json:"items"`
	}
	data = bytes.TrimPrefix(bytes.TrimSpace(data), []byte("\ufeff"))
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, fmt.Errorf("PowerShell's answer: %w", err)
	}
	return answer.Items, nil
}
