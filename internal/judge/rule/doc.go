// Package rule keeps the standing answers of people: "this agent may run git status here,
// until Friday, twenty times". Where the judge would have a person asked, the inbox looks
// here first (approval.Rules), so that nobody is asked the same thing again and again.
//
//	r, err := rule.From(item)                       // "always like this", from a question
//	r.Until, r.Uses = friday, 20
//	fmt.Println(r.Words(), r.Try(lastQuestions))    // told, and tried, before it is made
//	r, err = rules.Make(ctx, who, r)
//
// What it guarantees:
//
//   - A rule is about one agent and one tool of its own person, and names every host, folder
//     outside and machine it is for. Nothing is a pattern but the last words of a plain
//     command and whole arguments; a shell's signs never widen one.
//   - Only a person in person makes one: at a page no program logged in, or as the owner at
//     the hub's machine. It ends with what they came by, and answers only where they
//     themselves could, as they stand when it is used.
//   - It never answers after words of strangers, for strangers or over MCP, nor what
//     policy.approvals, the task's mode or the agent's file want asked: the judge says so.
//   - Each use is counted in the transaction that answers. Taking it back holds from the
//     next call on, also of tasks that run.
package rule
