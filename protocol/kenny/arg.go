package kenny

import "regexp"

// Kind is the JSON type of an argument.
type Kind string

// The kinds that occur.
const (
	KindText    Kind = "string"
	KindInteger Kind = "integer"
	KindTexts   Kind = "array"
	KindFlag    Kind = "boolean"
)

// Arg is one key of a tool's args object.
type Arg struct {
	Name        string
	Kind        Kind
	Optional    bool
	Description string
	// Min and Max bound an integer's value, a text's characters or a list's
	// entries.
	Min, Max int
	// MaxBytes bounds a text in bytes too; 0 means Max alone counts.
	MaxBytes int
	// Default is filled in for an absent integer.
	Default int
	// Shape is a pattern a text must match; Hint puts it in words.
	Shape *regexp.Regexp
	Hint  string
	// Words are the entries of a list that our own machines know. A schema offers
	// them; others are taken too, because other machines may know more.
	Words []string
}

// Keys of the call options around a tool's own arguments.
const (
	keyAgent   = "agent_id"
	keyTimeout = "timeout_s"
	keyQueue   = "queue_for_s"
)

// maxListed bounds telemetry_collect's sections to what a snapshot can hold.
const maxListed = MaxSections

func text(name, description string) Arg {
	return Arg{Name: name, Kind: KindText, Min: 1, Max: MaxText, Description: description}
}

func optional(a Arg) Arg {
	a.Optional = true
	return a
}

func shaped(a Arg, shape *regexp.Regexp, hint string) Arg {
	a.Shape, a.Hint = shape, hint
	return a
}

var (
	// packageID is exact: no blanks, no leading dash, nothing a command line
	// could take for an option.
	packageID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.+_-]{0,127}$`)
	digest    = regexp.MustCompile(`^[0-9A-Fa-f]{64}$`)
)

// execArgs are the arguments of both exec tools.
func execArgs(language string) []Arg {
	return []Arg{
		{
			Name: "script", Kind: KindText, Min: 1, Max: MaxScript, MaxBytes: MaxScript,
			Description: language + " to run; output and exit status come back",
		},
		timeoutArg(defaultExecSeconds),
		{
			Name: "kill_background", Kind: KindFlag, Optional: true,
			Description: "true ends whatever the script leaves running; otherwise it goes on, and the result names it in left_running",
		},
	}
}

const defaultExecSeconds = 30

// timeoutArg is timeout_s, wherever it appears.
func timeoutArg(def int) Arg {
	return Arg{
		Name: keyTimeout, Kind: KindInteger, Optional: true, Default: def,
		Min: int(MinTimeout.Seconds()), Max: int(MaxTimeout.Seconds()),
		Description: "seconds until the call is given up and everything it started is killed",
	}
}

func wingetID(description string) Arg {
	return shaped(text("id", description), packageID, "a package id as winget_list shows it, such as Vendor.Product")
}
