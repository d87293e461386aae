package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// documented are the pages whose commands people copy.
func documented(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	for _, pattern := range []string{"README.md", "CONTRIBUTING.md", "docs/*.md", "docs/protocols/*.md"} {
		names, err := filepath.Glob(filepath.Join("..", "..", pattern))
		if err != nil || len(names) == 0 {
			t.Fatalf("no page is called %s: %v", pattern, err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			pages[name] = string(text)
		}
	}
	return pages
}

var (
	shellBlock = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")
	anyBlock   = regexp.MustCompile("(?ms)^```.*?^```$")
	inline     = regexp.MustCompile("`(parley [^`\n]+)`")
)

// Whoever copies a line from a page gets no "unknown command" and no "unknown flag".
func TestEveryDocumentedCommandLineExists(t *testing.T) {
	for name, text := range documented(t) {
		for _, block := range shellBlock.FindAllStringSubmatch(text, -1) {
			for _, words := range callsOf(t, name, block[1]) {
				if err := understood(words, true); err != nil {
					t.Errorf("%s: parley %s: %v", name, strings.Join(words, " "), err)
				}
			}
		}
		for _, code := range inline.FindAllStringSubmatch(anyBlock.ReplaceAllString(text, ""), -1) {
			for _, line := range alternatives(code[1]) {
				words := strings.Fields(line)[1:]
				if err := understood(words, false); err != nil {
					t.Errorf("%s: %s: %v; want no error", name, line, err)
				}
			}
		}
	}
}

// callsOf are the arguments of every call of parley in a piece of shell.
func callsOf(t *testing.T, name, script string) (calls [][]string) {
	t.Helper()
	file, err := syntax.NewParser().Parse(strings.NewReader(script), name)
	if err != nil {
		t.Errorf("%s: not a shell script: %v", name, err)
		return nil
	}
	syntax.Walk(file, func(node syntax.Node) bool {
		if call, ok := node.(*syntax.CallExpr); ok && len(call.Args) > 0 && call.Args[0].Lit() == "parley" {
			calls = append(calls, wordsOf(call.Args[1:]))
		}
		return true
	})
	return calls
}

func wordsOf(args []*syntax.Word) (words []string) {
	for _, arg := range args {
		word, err := expand.Literal(nil, arg)
		if err != nil { // $(…) and the like: whatever comes out is one word
			word = "x"
		}
		words = append(words, word)
	}
	return words
}

// alternatives writes out a|b in the words of a command: pages name neighbours so.
func alternatives(line string) []string {
	lines := []string{""}
	for word := range strings.FieldsSeq(line) {
		choices := []string{word}
		if regexp.MustCompile(`^[a-z]+(\|[a-z]+)+$`).MatchString(word) {
			choices = strings.Split(word, "|")
		}
		var next []string
		for _, before := range lines {
			for _, choice := range choices {
				next = append(next, strings.TrimSpace(before+" "+choice))
			}
		}
		lines = next
	}
	return lines
}

// understood reports what the command line would refuse before it does anything. A
// whole line has its arguments too; a mention in a sentence may leave them out.
func understood(words []string, whole bool) error {
	root := newRoot()
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	cmd, args, err := root.Find(words)
	if err != nil {
		return err
	}
	if cmd == root && len(words) > 0 && !strings.HasPrefix(words[0], "-") && words[0] != "…" {
		return errors.New("no such command")
	}
	if cmd.HasSubCommands() && !cmd.Runnable() && slices.ContainsFunc(args, isWord) {
		return errors.New("no such command below " + cmd.CommandPath())
	}
	cmd.InitDefaultHelpFlag()
	if !whole {
		return flagsExist(cmd, args)
	}
	if cmd.DisableFlagParsing {
		return nil
	}
	if err := cmd.ParseFlags(args); err != nil {
		return err
	}
	return cmd.ValidateArgs(cmd.Flags().Args())
}

var plainWord = regexp.MustCompile(`^[a-z][a-z-]*$`)

func isWord(s string) bool { return plainWord.MatchString(s) }

func flagsExist(cmd *cobra.Command, words []string) error {
	for _, word := range words {
		if word == "…" { // some command below this one
			return nil
		}
		name, ok := strings.CutPrefix(strings.Trim(word, "[](),.;"), "--")
		if !ok || name == "" || cmd.DisableFlagParsing {
			continue
		}
		name, _, _ = strings.Cut(name, "=")
		if cmd.Flag(name) == nil && cmd.InheritedFlags().Lookup(name) == nil {
			return errors.New("no such flag: --" + name)
		}
	}
	return nil
}

// Every command that does something is driven by a script or a test, as people would use it. One that
// is not would break without anybody noticing.
func TestEveryCommandIsDrivenBySomething(t *testing.T) {
	text := scriptsAndTests(t)
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
		path := strings.TrimPrefix(cmd.CommandPath(), "parley ")
		if cmd.HasSubCommands() || cmd.Hidden || path == "parley" {
			return
		}
		if !drives(text, strings.Fields(path)) {
			t.Errorf("no script in testdata/script and no test runs 'parley %s'", path)
		}
	}
	walk(newRoot())
}

// drives reports whether a script line or a list of arguments in a test has the words of a command.
func drives(text string, words []string) bool {
	shell := `\bparley (-\S+ )*` + strings.Join(words, " ") + `\b`
	list := `"` + strings.Join(words, `", "`) + `"`
	return regexp.MustCompile(shell).MatchString(text) || strings.Contains(text, list)
}

func scriptsAndTests(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, pattern := range []string{"testdata/script/*.txtar", "*_test.go", "../../test/*/*.go", "../../test/browser/*.mjs", "../../test/browser/lib/*.mjs"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("no file is called %s: %v", pattern, err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(data)
		}
	}
	return all.String()
}
