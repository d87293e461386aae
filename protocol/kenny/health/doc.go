// Package health judges telemetry: which machine is unwell, and why.
//
// It is pure: the clock is a parameter, the thresholds are one table.
//
//	report := health.Judge(kenny.Windows, snapshot, mutes, now)
//	report.Overall            // the worst counted section
//	report.Sections["disk"]   // {warn "C: 91 % full", reason "C: is 91 % full"}
//	report.Summary()          // "real-time protection is off +2 more"
//
// Where a rule has something to say about a section, its verdict is final,
// better or worse than the machine's own. Where no rule speaks, the machine's
// status counts. A muted section is judged and shown, but not counted.
package health
