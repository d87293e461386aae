// Command powershell stands in for PowerShell where Wine has only an empty shell of it: it hands the script file
// it is told to run to cmd.exe, line by line as one batch. `powershell.exe sleep` does nothing for an hour.
package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"
)

// scriptFile is the file in `…; & 'C:\…\script.ps1'; exit $LASTEXITCODE`.
var scriptFile = regexp.MustCompile(`& '([^']+\.ps1)'`)

func main() {
	command := os.Args[len(os.Args)-1]
	if command == "sleep" {
		time.Sleep(time.Hour)
		return
	}
	found := scriptFile.FindStringSubmatch(command)
	if found == nil {
		return // a question only the real one can answer
	}
	script, err := os.ReadFile(found[1])
	if err != nil {
		panic(err)
	}
	batch := filepath.Join(filepath.Dir(found[1]), "script.bat")
	text := append([]byte("@echo off\r\n"), bytes.TrimPrefix(script, []byte("\ufeff"))...)
	if err := os.WriteFile(batch, append(text, "\r\n"...), 0o600); err != nil {
		panic(err)
	}
	cmd := exec.Command("cmd.exe", "/c", batch)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	_ = cmd.Run() // its code is ours
	os.Exit(cmd.ProcessState.ExitCode())
}
