package place

import (
	"net/url"
	"strings"

	"parley.internal/protocol/mmp"
)

// route is one thing that can be asked.
type route struct {
	method, path string
	// first: the first generation of clients knows it, and reads the error's text.
	first bool
	// limit of the body; 0 reads none.
	limit int
	// peer routes are called by other places, which sign instead of sending a token.
	peer   bool
	handle func(*request) (answer, error)
}

const (
	get  = "GET"
	post = "POST"
	put  = "PUT"
	del  = "DELETE"
)

// routes is everything. A path that ends in a slash takes one more segment.
func routes() []route {
	return []route{
		{get, "/health", true, 0, false, (*request).health},
		{get, "/place/v1/info", true, 0, false, (*request).info},
		{get, "/place/v1/stats", true, 0, false, (*request).stats},
		{get, "/place/v1/welcome", false, 0, false, (*request).welcome},

		{post, "/place/v1/challenge", false, mmp.MaxBody, false, (*request).challenge},
		{post, "/place/v1/register", true, mmp.MaxBody, false, (*request).register},
		{post, "/place/v1/heartbeat", true, mmp.MaxBody, false, (*request).heartbeat},
		{post, "/place/v1/unregister", true, mmp.MaxBody, false, (*request).unregister},
		{get, "/place/v1/agents", true, 0, false, (*request).agents},
		{get, "/place/v1/agents/", true, 0, false, (*request).agent},
		{get, "/place/v1/agent_profile/", false, 0, false, (*request).profile},

		{post, "/place/v1/board/post", true, mmp.MaxBody, false, (*request).post},
		{post, "/place/v1/board/remove", true, mmp.MaxBody, false, (*request).remove},
		{get, "/place/v1/board/browse", true, 0, false, (*request).browse},
		{get, "/place/v1/board/posting/", true, 0, false, (*request).posting},
		{get, "/place/v1/board/my_postings", true, 0, false, (*request).myPostings},
		{post, "/place/v1/board/needs", false, mmp.MaxBody, false, (*request).publishNeeds},
		{del, "/place/v1/board/needs", false, mmp.MaxBody, false, (*request).removeNeeds},
		{post, "/place/v1/board/attest", false, mmp.MaxBody, false, (*request).attest},

		{post, "/place/v1/deposit", false, mmp.MaxDepositBody, false, (*request).deposit},
		{put, "/place/v1/deposit/", false, mmp.MaxDepositBody, false, (*request).updateDeposit},
		{del, "/place/v1/deposit/", false, mmp.MaxBody, false, (*request).withdraw},
		{get, "/place/v1/preview/", false, 0, false, (*request).preview},
		{get, "/place/v1/skill_content/", false, 0, false, (*request).skillContent},

		{post, "/place/v1/keys/register", true, mmp.MaxBody, false, (*request).registerKey},
		{get, "/place/v1/keys/", true, 0, false, (*request).key},

		{get, "/place/v1/keys/log/head", false, 0, false, (*request).keyHead},
		{get, "/place/v1/keys/log/consistency", false, 0, false, (*request).keyConsistency},
		{get, "/place/v1/keys/log/history", false, 0, false, (*request).keyHistory},
		{get, "/place/v1/keys/log/seen", false, 0, false, (*request).seenHeads},
		{post, "/place/v1/keys/log/seen", false, mmp.MaxBody, false, (*request).handOver},

		{post, "/place/v1/relay/send", true, mmp.MaxRelayBody, false, (*request).send},
		{get, "/place/v1/relay/receive", true, 0, false, (*request).receive},
		{get, "/place/v1/relay/peek", true, 0, false, (*request).peek},
		{get, "/place/v1/relay/status", true, 0, false, (*request).queueStatus},
		{get, "/place/v1/relay/stats", true, 0, false, (*request).relayStats},
		{post, "/place/v1/relay/ack", false, mmp.MaxBody, false, (*request).ack},
		{get, "/place/v1/relay/sent", false, 0, false, (*request).sent},

		{get, "/place/v1/audit", true, 0, false, (*request).audit},
		{get, "/place/v1/audit/stats", true, 0, false, (*request).auditStats},

		{get, "/place/v1/peer/agents", false, mmp.MaxBody, true, (*request).peerAgents},
		{get, "/place/v1/peer/keys/", false, mmp.MaxBody, true, (*request).peerKey},
		{post, "/place/v1/peer/relay", false, mmp.MaxRelayBody, true, (*request).peerRelay},

		{get, "/place/v1" + socketPath, false, 0, false, (*request).socket},
		{get, "/meeting/v1" + socketPath, false, 0, false, (*request).socket},

		{get, "/meeting/v1/introduce", true, 0, false, (*request).introduction},
		{post, "/meeting/v1/introduce", true, mmp.MaxMeetingBody, false, (*request).introduce},
		{post, "/meeting/v1/message", true, mmp.MaxMeetingBody, false, (*request).message},
		{post, "/meeting/v1/goodbye", false, mmp.MaxMeetingBody, false, (*request).goodbye},
		{get, "/meeting/v1/capabilities", true, 0, false, (*request).capabilities},
		{get, "/meeting/v1/skills", true, 0, false, (*request).skills},
		{get, "/meeting/v1/skill_details", false, 0, false, (*request).skillDetails},
		{get, "/meeting/v1/skill_preview", false, 0, false, (*request).skillPreview},
		{post, "/meeting/v1/skill_content", false, mmp.MaxMeetingBody, false, (*request).packageSkill},
		{post, "/meeting/v1/request_skill", true, mmp.MaxMeetingBody, false, (*request).requestSkill},
		{post, "/meeting/v1/reflect", true, mmp.MaxMeetingBody, false, (*request).reflect},
		{post, "/meeting/v1/offer_skill", true, mmp.MaxMeetingBody, false, (*request).offerSkill},
		{post, "/meeting/v1/accept", true, mmp.MaxMeetingBody, false, (*request).accept},
		{post, "/meeting/v1/decline", true, mmp.MaxMeetingBody, false, (*request).decline},
		{post, "/meeting/v1/session/start", false, mmp.MaxMeetingBody, false, (*request).startSession},
		{post, "/meeting/v1/session/end", false, mmp.MaxMeetingBody, false, (*request).endSession},
		{get, "/meeting/v1/history", false, 0, false, (*request).history},
	}
}

// table is routes by path, made once.
var table = func() map[string][]*route {
	t := map[string][]*route{}
	for _, r := range routes() {
		t[r.path] = append(t[r.path], &r)
	}
	return t
}()

// skillsets are refused by name: archives of skills are not exchanged.
var skillsets = &route{handle: func(*request) (answer, error) { return answer{}, mmp.ErrSkillset }}

// match finds the route of a path; without one, the methods the path has.
func match(method, escaped string) (found *route, arg string, allowed []string) {
	if strings.HasPrefix(escaped, "/place/v1/skillset_") || strings.HasPrefix(escaped, "/meeting/v1/skillset") {
		return skillsets, "", nil
	}
	candidates := table[escaped]
	if strings.HasSuffix(escaped, "/") {
		candidates = nil // a trailing slash is another path
	}
	if candidates == nil {
		folder, last, _ := cutLast(escaped)
		name, err := url.PathUnescape(last)
		if err != nil || name == "" {
			return nil, "", nil
		}
		candidates, arg = table[folder], name
	}
	for _, r := range candidates {
		if r.method == method {
			return r, arg, nil
		}
		allowed = append(allowed, r.method)
	}
	return nil, "", allowed
}

// cutLast splits before the last segment; the folder keeps its slash.
func cutLast(path string) (folder, last string, ok bool) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return "", path, false
	}
	return path[:i+1], path[i+1:], true
}
