// Package cron reads schedules and tells when they fire next. It is pure: no
// clock, no goroutine; the time is always a parameter.
//
// A schedule has five to seven fields separated by white space:
//
//	[sec] min hour day month weekday [year]
//
// Five fields fire at second 0, six begin with seconds, seven have a year too.
// A field is `*` (or `?` for day and weekday), a number, a name (JAN…DEC,
// SUN…SAT, any case), a range `a-b`, a step `*/n`, `a-b/n` or `a/n` (from a to
// the field's end), or a comma-separated list of these. Sunday is 0 or 7.
// Everything is UTC.
//
//	s, err := cron.Parse("0 9 * * MON-FRI")
//	at, ok := s.Next(time.Now())
//
// When day and weekday are both restricted, either one is enough, as everywhere
// else in the cron world. [Schedule.Next] always ends: a date that never comes
// (30 February) gives ok == false.
//
// [Quiet] is a daily window in which nothing should fire; it may wrap midnight.
package cron
