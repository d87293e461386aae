// Package scan reads a text of somebody else, a skill above all, before a person
// does: what might it try on the agent that reads it, and what does it keep from the
// person?
//
//	s, err := scan.New()
//	for _, f := range s.Scan(text) { … f.Line, f.Severity, f.Text … }
//
// Four sorts of finders, each in a file of its own:
//
//   - rules.json: phrases and marks that a regular expression knows. Among them is
//     everything a renderer would not show, or show otherwise: HTML of any kind,
//     definitions and titles of links, entities, pictures, gaps. Code is left out where
//     a renderer shows what is in it as it is.
//   - languages.json: the same phrases in other languages, by two words of each.
//   - characters.go: whatever package visible writes out, by what it is used for.
//   - words.go: words in letters of two scripts, or in letters that only look like ours.
//
// A finding says what to look at; it forbids nothing, and no findings promise
// nothing. What is approved is shown whole and as source, found or not.
package scan
