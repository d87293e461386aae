package probe

import (
	"slices"
	"strconv"
	"strings"
)

// parseLaunchctl reads `launchctl list`: process, last exit status, label.
func parseLaunchctl(text string) []Service {
	var out []Service
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimRight(line, "\r\n"), "\t")
		if len(f) != 3 || f[0] == "PID" {
			continue
		}
		out = append(out, Service{Name: f[2], Display: f[2], Status: launchdStatus(f[0], f[1]), Start: Manual})
	}
	slices.SortFunc(out, func(a, b Service) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// launchdStatus: a job that ended with a status of its own failed; one that
// was ended by a signal was told to.
func launchdStatus(pid, status string) string {
	if _, err := strconv.Atoi(pid); err == nil {
		return Running
	}
	if n, err := strconv.Atoi(status); err == nil && n > 0 {
		return Failed
	}
	return Stopped
}

// parseLaunchctlDisabled reads `launchctl print-disabled`: lines of
// "label" => disabled (older systems: true).
func parseLaunchctlDisabled(text string) map[string]bool {
	out := map[string]bool{}
	for line := range strings.Lines(text) {
		label, state, ok := strings.Cut(strings.TrimSpace(line), "=>")
		if !ok {
			continue
		}
		state = strings.TrimSpace(state)
		out[strings.Trim(strings.TrimSpace(label), `"`)] = state == "disabled" || state == "true"
	}
	return out
}

// launchdJob is what a job's property list says.
type launchdJob struct {
	Label, Command string
	Auto, Disabled bool
}

func readJob(p map[string]any) launchdJob {
	j := launchdJob{}
	j.Label, _ = p["Label"].(string)
	j.Command, _ = p["Program"].(string)
	if args, ok := p["ProgramArguments"].([]any); ok {
		var words []string
		for _, a := range args {
			if s, ok := a.(string); ok {
				words = append(words, s)
			}
		}
		if len(words) > 0 {
			j.Command = strings.Join(words, " ")
		}
	}
	run, _ := p["RunAtLoad"].(bool)
	_, keepRules := p["KeepAlive"].(map[string]any)
	keep, _ := p["KeepAlive"].(bool)
	j.Auto = run || keep || keepRules
	j.Disabled, _ = p["Disabled"].(bool)
	return j
}

// applyJobs adds how the services start, as their property lists say.
func applyJobs(services []Service, jobs []launchdJob, disabled map[string]bool) {
	byLabel := map[string]launchdJob{}
	for _, j := range jobs {
		byLabel[j.Label] = j
	}
	for i := range services {
		j := byLabel[services[i].Name]
		switch {
		case disabled[services[i].Name] || j.Disabled:
			services[i].Start = Disabled
		case j.Auto:
			services[i].Start = Auto
		}
	}
}
