// Package skillfile reads skills from a folder: Markdown with a YAML front
// matter, as NAME/SKILL.md (with whatever files the skill brings) or as a single
// NAME.md.
//
//	all, err := skillfile.Load(filepath.Join(data, "skills"))
//	mine := skillfile.Select(all, agent.Skills)
//	prompt += skillfile.Index(mine)                       // names and descriptions
//	text, skill := skillfile.Expand("/release v2", mine)  // what the user typed
//
// The name of the folder or file is the name of the skill. A skill that cannot
// be read is listed with its error, so that people see what is wrong; agents
// never get it. Links that lead out of the folder are refused.
package skillfile
