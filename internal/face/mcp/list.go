package mcp

import (
	"net/http"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley.internal/internal/face/front"
)

// mostListed is how many tools /mcp lists at once. Every tool costs the model's
// attention in every turn, so that a token that may use more sees the common ones, and
// finds the others by find_tools.
const mostListed = 24

// listAll, as the parameter tools of the address, lists everything; names of parts
// list those.
const listAll = "all"

// wished are the parts whose tools the address asks to list, such as /mcp?tools=fleet,room.
func (p *path) wished(r *http.Request) ([]string, error) {
	text := r.URL.Query().Get("tools")
	if text == "" || p.name != "" {
		return nil, nil
	}
	parts := strings.Split(text, ",")
	for _, part := range parts {
		known := slices.ContainsFunc(p.sets, func(s Toolset) bool { return s.Name == part })
		if !known && part != listAll {
			return nil, front.NewProblem(http.StatusBadRequest, "invalid", "tools names parts of this hub, separated by commas, or is "+listAll, nil)
		}
	}
	return parts, nil
}

// only leaves in a list what the caller may call and, where that is much, what it
// asked for or everybody needs.
func (p *path) only(list *sdk.ListToolsResult, req sdk.Request) {
	c, known := callerOf(req.GetExtra())
	inSession := p.sessionOf(req) != nil
	mine, others := []entry{}, []*sdk.Tool{}
	for _, t := range list.Tools {
		e, ours := p.tools[t.Name]
		switch {
		case !ours:
			others = append(others, t)
		case known && e.usable(&Call{Who: c.who}, inSession):
			mine = append(mine, e)
		}
	}
	list.Tools = others
	for _, e := range p.choose(mine, c.parts) {
		list.Tools = append(list.Tools, e.describe(inSession))
	}
}

// usable tells whether the caller can do anything with the tool.
func (e entry) usable(c *Call, inSession bool) bool {
	return e.allowed(c) == nil && (inSession || !e.InSession)
}

// choose makes a long list of /mcp shorter.
func (p *path) choose(all []entry, parts []string) []entry {
	drop := func(e entry) bool { return !e.Common }
	switch {
	case p.name != "":
		return all
	case slices.Contains(parts, listAll) || len(parts) == 0 && len(all) <= mostListed:
		drop = func(e entry) bool { return e.part == findPart }
	case len(parts) > 0:
		drop = func(e entry) bool { return e.part != findPart && !slices.Contains(parts, e.part) }
	}
	return slices.DeleteFunc(all, drop)
}
