package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// NewVersion prints a program's version, as its second word.
func NewVersion(version string) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s %s %s/%s %s\n", cmd.Root().Name(), version, runtime.GOOS, runtime.GOARCH, runtime.Version())
			return err
		},
	}
}

// NewMan writes a manual page for every command into a folder, for packages.
func NewMan() *cobra.Command {
	return &cobra.Command{
		Use: "man FOLDER", Short: "Write manual pages", Hidden: true, Args: Exactly(1, "name the folder for the manual pages"),
		RunE: func(cmd *cobra.Command, args []string) error { return writeManual(cmd.Root(), args[0]) },
	}
}

func writeManual(cmd *cobra.Command, folder string) error {
	if cmd.Hidden {
		return nil
	}
	for _, sub := range cmd.Commands() {
		if err := writeManual(sub, folder); err != nil {
			return err
		}
	}
	if !cmd.IsAvailableCommand() && cmd.HasParent() || cmd.IsAdditionalHelpTopicCommand() {
		return nil
	}
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
	var page strings.Builder
	manualPage(&page, name, cmd)
	return os.WriteFile(filepath.Join(folder, name+".1"), []byte(page.String()), 0o644) //nolint:gosec // for everybody to read
}

// manualPage writes one page. It has no date, so that two builds make the same bytes.
func manualPage(w io.Writer, name string, cmd *cobra.Command) {
	fmt.Fprintf(w, ".TH \"%s\" 1 \"\" \"%s\" \"Parley\"\n", roff(strings.ToUpper(name)), roff(cmd.Root().Name()+" "+cmd.Root().Version))
	fmt.Fprintf(w, ".SH NAME\n%s \\- %s\n.SH SYNOPSIS\n.B %s\n", roff(name), roff(cmd.Short), roff(cmd.UseLine()))
	if long := cmd.Long; long != "" {
		fmt.Fprintf(w, ".SH DESCRIPTION\n.nf\n%s\n.fi\n", roff(long))
	}
	manualFlags(w, "OPTIONS", cmd.NonInheritedFlags())
	manualFlags(w, "OPTIONS OF EVERY COMMAND", cmd.InheritedFlags())
	if cmd.HasExample() {
		fmt.Fprintf(w, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(cmd.Example))
	}
	var others []string
	if cmd.HasParent() {
		others = append(others, strings.ReplaceAll(cmd.Parent().CommandPath(), " ", "-"))
	}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			others = append(others, strings.ReplaceAll(sub.CommandPath(), " ", "-"))
		}
	}
	if len(others) > 0 {
		fmt.Fprintf(w, ".SH SEE ALSO\n%s(1)\n", roff(strings.Join(others, "(1), ")))
	}
}

func manualFlags(w io.Writer, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(w, ".SH %s\n", title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		names := "--" + f.Name
		if f.Shorthand != "" {
			names = "-" + f.Shorthand + ", " + names
		}
		kind, usage := pflag.UnquoteUsage(f)
		fmt.Fprintf(w, ".TP\n.B %s\n%s\n", roff(strings.TrimSpace(names+" "+kind)), roff(usage))
	})
}

// roff writes text so that nothing of it is an instruction to the formatter.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
