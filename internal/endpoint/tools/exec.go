package tools

import (
	"context"
	"os"
	"os/exec"
	"strings"

	"parley.internal/internal/endpoint/command"
	"parley.internal/internal/endpoint/probe"
	wire "parley.internal/protocol/kenny"
)

// execResult is what a script left behind.
type execResult struct {
	Stdout    string `json:"stdout"`
	Stderr    string `json:"stderr"`
	ExitCode  int    `json:"exit_code"`
	Truncated bool   `json:"truncated,omitempty"`
	// Left names what the script left running, and Note says what became of it.
	Left []string `json:"left_running,omitempty"`
	Note string   `json:"note,omitempty"`
}

// run runs a script's program. What the script leaves behind goes on, unless the
// call says otherwise; nothing happens to it without a word.
func (s *Set) run(ctx context.Context, c Call, spec command.Spec) (any, error) {
	spec.KeepBackground = !c.Args.Flag("kill_background")
	res, err := command.Run(ctx, spec)
	if err != nil {
		return nil, err
	}
	out := execResult{
		Stdout: command.Text(res.Stdout), Stderr: command.Text(res.Stderr),
		ExitCode: res.ExitCode, Truncated: res.Truncated,
	}
	var names []string
	for _, p := range res.Left {
		names = append(names, p.String())
	}
	switch list := strings.Join(names, ", "); {
	case len(names) == 0:
	case spec.KeepBackground:
		out.Left = names
		out.Note = "the script has ended and left running: " + list + "; it goes on until it ends or the endpoint stops (kill_background ends it with the script)"
	default:
		out.Note = "ended with the script, as kill_background asks: " + list
	}
	return out, nil
}

// argLimit is below what Linux allows for one argument; longer scripts go by
// way of a file.
const argLimit = 96 << 10

// shell runs a script with /bin/sh. Its input is closed.
func (s *Set) shell(ctx context.Context, c Call) (any, error) {
	script := c.Args.Text("script")
	if len(script) <= argLimit {
		return s.run(ctx, c, command.Spec{Path: "/bin/sh", Args: []string{"-c", script}})
	}
	f, err := nameless(script)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return s.run(ctx, c, command.Spec{Path: "/bin/sh", Args: []string{"/dev/fd/3"}, Files: []*os.File{f}})
}

// nameless keeps a text in a file that has no name any more: nobody can swap
// it, and nothing is left to clean up.
func nameless(text string) (*os.File, error) {
	f, err := os.CreateTemp("", "endpoint-*")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(f.Name()) // the open file stays
	if _, err := f.WriteString(text); err != nil {
		_ = f.Close()
		return nil, err
	}
	if _, err := f.Seek(0, 0); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// powershell runs a script with Windows PowerShell, else with PowerShell 7.
func (s *Set) powershell(ctx context.Context, c Call) (any, error) {
	if wire.ForShell(s.deps.OS, c.Args.Text("script")) {
		return s.shell(ctx, c)
	}
	program, ok := findPowerShell(exec.LookPath)
	if !ok {
		return nil, unsupported("PowerShell is not installed on this machine; use shell_exec, or begin the script with the line #!/bin/sh to have it run by the shell")
	}
	spec, clean, err := powershellSpec(program, c.Args.Text("script"))
	if err != nil {
		return nil, err
	}
	defer clean()
	return s.run(ctx, c, spec)
}

// findPowerShell prefers the one that comes with Windows.
func findPowerShell(look func(string) (string, error)) (string, bool) {
	for _, name := range []string{"powershell.exe", "pwsh"} {
		if path, err := look(name); err == nil {
			return path, true
		}
	}
	return "", false
}

// powershellSpec puts the script into a private file: a command line is too
// short for a long one, and standard input would be read line by line, as if
// somebody were typing. The file begins with a byte order mark, without which
// Windows PowerShell takes it for the local code page; output is set to UTF-8
// by the command that starts it.
func powershellSpec(program, script string) (command.Spec, func(), error) {
	dir, err := os.MkdirTemp("", "endpoint-*")
	if err != nil {
		return command.Spec{}, nil, err
	}
	clean := func() { _ = os.RemoveAll(dir) } // a leftover is private and empty of secrets
	path := dir + string(os.PathSeparator) + "script.ps1"
	if err := os.WriteFile(path, []byte("\ufeff"+script), 0o600); err != nil {
		clean()
		return command.Spec{}, nil, err
	}
	start := "[Console]::OutputEncoding=[Text.Encoding]::UTF8; $OutputEncoding=[Text.Encoding]::UTF8; & " + probe.Quote(path) + "; exit $LASTEXITCODE"
	return command.Spec{
		Path: program,
		Args: []string{"-NoLogo", "-NoProfile", "-NonInteractive", "-ExecutionPolicy", "Bypass", "-Command", start},
	}, clean, nil
}
