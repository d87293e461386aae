package main

// growth is the property over all faces.
const growth, nothingGrows = "test/growth", "TestNoSequenceOfRequestsGrows"

// mutants are holes that were there once.
var mutants = []mutant{
	{
		name: "tokens: device:manage gets the owner's new secret", pkg: growth, test: nothingGrows, file: "internal/identity/rotate.go",
		old: "\t\tif !own {\n", new: "\t\tif false {\n",
	},
	{
		name: "tokens: a short one mints a long one", pkg: growth, test: nothingGrows, file: "internal/identity/token.go",
		old: "earlier(t.Expires, a.end)", new: "t.Expires",
	},
	{
		name: "tokens: what a revoked one made lives on", pkg: growth, test: nothingGrows, file: "internal/identity/endtree.go",
		old: "made, err := endMadeWith(tx, madeWithToken(c.ID))", new: "made, err := endMadeWith(tx, madeWithToken(\"\"+c.ID+\"x\"))",
	},
	{
		name: "tokens: passkeys added with one live on", pkg: growth, test: nothingGrows, file: "internal/identity/passkeys.go",
		old: "key.maker, key.Expires = a.maker, a.end", new: "key.maker, key.Expires = byHub, a.end",
	},
	{
		name: "tokens: one gives what it does not have", pkg: growth, test: nothingGrows, file: "internal/identity/grant.go",
		old: "return role.cut(Expand(requested...).Intersect(credential))", new: "return role.cut(Expand(requested...))",
	},
	{
		name: "everyday: * is talk:admin", pkg: growth, test: nothingGrows, file: "internal/identity/scope.go",
		old: "FleetRead, FleetSensitive, FleetCall, Rooms, Place, Talk, AuditRead, NodeRegister,\n}", new: "FleetRead, FleetSensitive, FleetCall, Rooms, Place, Talk, TalkAdmin, AuditRead, NodeRegister,\n}",
	},
	{
		name: "everyday: whoever talks makes agents over REST", pkg: growth, test: nothingGrows, file: "internal/face/api/agents.go",
		old: "Scope: identity.AgentsManage", new: "Scope: identity.Talk",
	},
	{
		name: "everyday: whoever talks starts programs over the wire", pkg: growth, test: nothingGrows, file: "internal/face/talk/table.go",
		old: "14: {now: (*request).setMCPs, manage: true}", new: "14: {now: (*request).setMCPs}",
	},
	{
		name: "everyday: always_execute needs no right", pkg: growth, test: nothingGrows, file: "internal/work/submit.go",
		old: "if mode == viber.AlwaysExecute && !who.Scopes.Has(identity.TaskUnattended) {", new: "if false {",
	},
	{
		name: "names: a person called *", pkg: growth, test: nothingGrows, file: "internal/identity/name.go",
		old: "\treturn checkForm(name)\n}\n\n// checkForm", new: "\treturn nil\n}\n\n// checkForm",
	},
	{
		name: "names: whoever may talk may talk as anybody", pkg: growth, test: nothingGrows, file: "internal/identity/senders.go",
		old: "if a.Scopes.Has(TalkAdmin) {", new: "if a.Scopes.Has(Talk) {",
	},
	{
		name: "machines: a token is not asked over REST", pkg: growth, test: nothingGrows, file: "internal/judge/judge.go",
		old: "return who.Scopes.Has(identity.FleetUnattended) || ", new: "return who.Scopes.Has(identity.FleetUnattended) || s.Where == identity.AtAPI || ",
	},
	{
		name: "machines: a page that a program logged in is a person", pkg: growth, test: nothingGrows, file: "internal/identity/maker.go",
		old: "if owners, err := isOwnerToken(tx, id); err != nil || !owners {", new: "if _, err := isOwnerToken(tx, id); err != nil {",
	},
	{
		name: "machines: an agent has rights of its own", pkg: growth, test: nothingGrows, file: "internal/identity/narrow.go",
		old: "\treturn a.Narrow(agentReach)\n}", new: "\ta.Scopes = agentReach\n\treturn a\n}",
	},
	{
		name: "machines: always_execute spares the quorum", pkg: growth, test: nothingGrows, file: "internal/judge/judge.go",
		old: "case ruled && (", new: "case s.Mode != AlwaysExecute && ruled && (",
	},
	{
		name: "tasks: one of a revoked token goes on unasked", pkg: growth, test: "TestATaskOfARevokedTokenAsksFromThenOn", file: "internal/work/act.go",
		old: " && !t.w.gone(t.spec.By)", new: "",
	},
	{
		name: "tasks: a weaker token's words are followed unasked", pkg: growth, test: "TestAWeakerTokensWordsAreAskedAbout", file: "internal/work/act.go",
		old: "return t.state.Reach.Has(identity.TaskUnattended) && ", new: "return ",
	},
	{
		name: "tokens: an invited page gets the owner's new secret", pkg: growth, test: nothingGrows, file: "internal/identity/rotate.go",
		old: "owners && a.maker != byHub", new: "owners && false",
	},
	{
		name: "place: one sender fills a victim's queue", pkg: "internal/face/place", test: "TestOneSenderDoesNotFillAVictimsQueue", file: "internal/place/overflow.go",
		old: "return held < fewOf(limit), err", new: "return false, err",
	},
	{
		name: "place: a flood drops everybody else's messages", pkg: "internal/face/place", test: "TestAFloodDropsItsOwnMessages", file: "internal/place/overflow.go",
		old: "ORDER BY count(*) DESC, min(num) LIMIT 1", new: "ORDER BY min(num) LIMIT 1",
	},
}
