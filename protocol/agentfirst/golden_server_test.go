package agentfirst_test

import (
	"google.golang.org/protobuf/proto"

	af "parley.internal/protocol/agentfirst"
)

func usage() *af.TokenUsage {
	return &af.TokenUsage{
		PromptTokens: 10, CompletionTokens: 5, TotalTokens: 15, CacheHitTokens: proto.Uint32(0), CacheMissTokens: proto.Uint32(10),
		ReasoningTokens: proto.Uint32(3), CostMicros: proto.Uint64(1234), Rounds: 2,
	}
}

func handUsage(n int) hand {
	return msg(n, num(1, 10), num(2, 5), num(3, 15), num(4, 0), num(5, 10), num(6, 3), num(200, 1234), num(201, 2))
}

func historyMessage() *af.HistoryMessage {
	return &af.HistoryMessage{Role: "assistant", Content: "hi", Agent: "twin", Seq: 8, At: "2026-04-03T10:00:00Z", Summary: true, Outcome: "failed", OutcomeCode: "timeout", Files: []*af.FileRef{fileRef()}}
}

func fileRef() *af.FileRef {
	return &af.FileRef{Digest: "0f", Name: "photo.png", Type: "image/png", Size: 108}
}

func handFileRef(n int) hand {
	return msg(n, str(1, "0f"), str(2, "photo.png"), str(3, "image/png"), num(4, 108))
}

func handHistoryMessage(n int) hand {
	return msg(n, str(1, "assistant"), str(2, "hi"), str(200, "twin"), num(201, 8), str(202, "2026-04-03T10:00:00Z"), yes(203), str(204, "failed"), str(205, "timeout"), handFileRef(206))
}

func agentInfo() *af.AgentInfo {
	return &af.AgentInfo{
		Name: "crab", Description: "d", Config: "{}", Model: proto.String("p:m"), MaxIterations: 16, Thinking: true,
		Members: []string{"a", "b"}, Skills: []string{"s"}, Mcps: []string{"m"}, CompactThreshold: proto.Uint32(0), CompactToolMaxLen: 1024,
		Tools: []string{"recall"}, Prompt: "p", Error: "e",
	}
}

func handAgentInfo(n int) hand {
	return msg(n, str(1, "crab"), str(2, "d"), str(3, "{}"), str(4, "p:m"), num(5, 16), yes(6), str(7, "a"), str(7, "b"), str(8, "s"),
		str(9, "m"), num(10, 0), num(11, 1024), str(200, "recall"), str(201, "p"), str(202, "e"))
}

func cronInfo() *af.CronInfo {
	return &af.CronInfo{
		Id: 4, Schedule: "0 9 * * *", Skill: "sk", Agent: "a", QuietStart: "22:00", QuietEnd: "06:00", Once: true, Sender: "s",
		Thread: "t", NextAt: "n", LastError: "e",
	}
}

func handCronInfo(n int) hand {
	return msg(n, num(1, 4), str(2, "0 9 * * *"), str(3, "sk"), str(4, "a"), str(5, "22:00"), str(6, "06:00"), yes(7), str(8, "s"),
		str(200, "t"), str(201, "n"), str(202, "e"))
}

func serverGolden() []golden {
	return []golden{
		{
			"server/error", msg(1, num(1, 404), str(2, "no agent crab")),
			&af.ServerMessage{Message: &af.ServerMessage_Error{Error: &af.ErrorReply{Code: 404, Message: "no agent crab"}}},
		},
		{"server/pong", msg(2), &af.ServerMessage{Message: &af.ServerMessage_Pong{Pong: &af.Pong{}}}},
		{
			"server/response", msg(3, str(1, "crab"), str(2, "hi"), str(4, "p"), str(5, "m"), handUsage(6), str(200, "r")),
			&af.ServerMessage{Message: &af.ServerMessage_Response{Response: &af.Response{
				Agent: "crab", Content: "hi", Provider: "p", Model: "m", Usage: usage(), RunId: "r",
			}}},
		},
		{
			"server/stream", msg(4, msg(2, str(1, "hi"))),
			&af.ServerMessage{Message: &af.ServerMessage_Stream{Stream: &af.StreamEvent{Event: &af.StreamEvent_Chunk{Chunk: &af.StreamChunk{Content: "hi"}}}}},
		},
		{
			"server/active_conversations", msg(5, msg(1, str(1, "a"), str(2, "s"), num(3, 6), num(4, 60), str(5, "T"), str(200, "t"))),
			&af.ServerMessage{Message: &af.ServerMessage_ActiveConversations{ActiveConversations: &af.ActiveConversations{
				Conversations: []*af.ActiveConversationInfo{{Agent: "a", Sender: "s", MessageCount: 6, AliveSecs: 60, Title: "T", Thread: "t"}},
			}}},
		},
		{
			"server/compact", msg(6, str(1, "sum"), str(200, "i"), str(201, "T"), str(202, "at")),
			&af.ServerMessage{Message: &af.ServerMessage_Compact{Compact: &af.CompactResult{Summary: "sum", ArchiveId: "i", Title: "T", ArchivedAt: "at"}}},
		},
		{
			"server/conversation_list",
			msg(7, msg(1, str(1, "a"), str(2, "s"), num(3, 2), str(4, "T"), str(5, "conversation:x"), num(6, 9), num(7, 60), str(8, "2026-04-03"), str(200, "t"))),
			&af.ServerMessage{Message: &af.ServerMessage_ConversationList{ConversationList: &af.ConversationList{
				Conversations: []*af.ConversationInfo{{
					Agent: "a", Sender: "s", Seq: 2, Title: "T", FilePath: "conversation:x", MessageCount: 9, AliveSecs: 60, Date: "2026-04-03", Thread: "t",
				}},
			}}},
		},
		{
			"server/provider_list", msg(8, msg(1, str(1, "n"), yes(2), str(3, "{}"), yes(4))),
			&af.ServerMessage{Message: &af.ServerMessage_ProviderList{ProviderList: &af.ProviderList{
				Providers: []*af.ProviderInfo{{Name: "n", Active: true, Config: "{}", Enabled: true}},
			}}},
		},
		{
			"server/provider_preset_list", msg(9, msg(1, str(1, "n"), num(2, 7), str(3, "b"), str(4, "f"), str(5, "d"))),
			&af.ServerMessage{Message: &af.ServerMessage_ProviderPresetList{ProviderPresetList: &af.ProviderPresetList{
				Presets: []*af.ProviderPreset{{Name: "n", Kind: af.ProviderLlamaCpp, BaseUrl: "b", FixedBaseUrl: "f", DefaultModel: "d"}},
			}}},
		},
		{
			"server/mcp_list", msg(10, msg(1, str(1, "m"), num(10, 1), num(11, 1))),
			&af.ServerMessage{Message: &af.ServerMessage_McpList{McpList: &af.McpList{
				Mcps: []*af.McpInfo{{Name: "m", SourceKind: af.SourceLocal, Status: af.MCPConnected}},
			}}},
		},
		{"server/agent_info", handAgentInfo(11), &af.ServerMessage{Message: &af.ServerMessage_AgentInfo{AgentInfo: agentInfo()}}},
		{
			"server/agent_list", msg(12, handAgentInfo(1)),
			&af.ServerMessage{Message: &af.ServerMessage_AgentList{AgentList: &af.AgentList{Agents: []*af.AgentInfo{agentInfo()}}}},
		},
		{
			"server/hub_event_step", msg(13, msg(1, str(1, "x"))),
			&af.ServerMessage{Message: &af.ServerMessage_HubEvent{HubEvent: &af.HubEvent{Event: &af.HubEvent_Step{Step: &af.HubStep{Message: "x"}}}}},
		},
		{
			"server/hub_event_warning", msg(13, msg(2, str(1, "x"))),
			&af.ServerMessage{Message: &af.ServerMessage_HubEvent{HubEvent: &af.HubEvent{Event: &af.HubEvent_Warning{Warning: &af.HubWarning{Message: "x"}}}}},
		},
		{
			"server/hub_event_setup_output", msg(13, msg(3, str(1, "x"))),
			&af.ServerMessage{Message: &af.ServerMessage_HubEvent{HubEvent: &af.HubEvent{Event: &af.HubEvent_SetupOutput{SetupOutput: &af.HubSetupOutput{Content: "x"}}}}},
		},
		{
			"server/hub_event_done", msg(13, msg(4, str(1, "x"))),
			&af.ServerMessage{Message: &af.ServerMessage_HubEvent{HubEvent: &af.HubEvent{Event: &af.HubEvent_Done{Done: &af.HubDone{Error: "x"}}}}},
		},
		{
			"server/package_list", msg(14, msg(1, str(1, "n"), str(2, "d"))),
			&af.ServerMessage{Message: &af.ServerMessage_PackageList{PackageList: &af.PackageList{Packages: []*af.PackageInfo{{Name: "n", Description: "d"}}}}},
		},
		{
			"server/skill_list", msg(15, msg(1, str(1, "n"), yes(2), str(3, "s"), num(4, 2))),
			&af.ServerMessage{Message: &af.ServerMessage_SkillList{SkillList: &af.SkillList{
				Skills: []*af.SkillInfo{{Name: "n", Enabled: true, Source: "s", SourceKind: af.SourcePackage}},
			}}},
		},
		{
			"server/service_log_output", msg(16, str(1, "x")),
			&af.ServerMessage{Message: &af.ServerMessage_ServiceLogOutput{ServiceLogOutput: &af.ServiceLogOutput{Content: "x"}}},
		},
		{"server/cron_info", handCronInfo(17), &af.ServerMessage{Message: &af.ServerMessage_CronInfo{CronInfo: cronInfo()}}},
		{
			"server/cron_list", msg(18, handCronInfo(1)),
			&af.ServerMessage{Message: &af.ServerMessage_CronList{CronList: &af.CronList{Crons: []*af.CronInfo{cronInfo()}}}},
		},
		{"server/config", msg(19, str(1, "x")), &af.ServerMessage{Message: &af.ServerMessage_Config{Config: &af.ConfigReply{Config: "x"}}}},
		{
			"server/stats", msg(20, num(1, 1), num(2, 2), num(3, 3), str(4, "p:m")),
			&af.ServerMessage{Message: &af.ServerMessage_Stats{Stats: &af.Stats{UptimeSecs: 1, ActiveConversations: 2, RegisteredAgents: 3, ActiveModel: "p:m"}}},
		},
		{
			"server/agent_event", msg(21, str(1, "a"), str(2, "s"), num(3, 206), str(4, "c"), str(5, "at"), str(200, "t"), str(201, "p"), str(202, "r")),
			&af.ServerMessage{Message: &af.ServerMessage_AgentEvent{AgentEvent: &af.AgentEvent{
				Agent: "a", Sender: "s", Kind: af.EventUsage, Content: "c", Timestamp: "at", Thread: "t", Primary: "p", RunId: "r",
			}}},
		},
		{
			"server/model_list", msg(22, msg(1, str(1, "n"), str(2, "p"), yes(3), yes(4), num(5, 2))),
			&af.ServerMessage{Message: &af.ServerMessage_ModelList{ModelList: &af.ModelList{
				Models: []*af.ModelInfo{{Name: "n", Provider: "p", Active: true, Enabled: true, Kind: af.ProviderAnthropic}},
			}}},
		},
		{
			"server/hub_package_list", msg(23, msg(1, str(1, "n"), str(2, "d"), num(3, 1), num(4, 2), yes(5), str(6, "r"))),
			&af.ServerMessage{Message: &af.ServerMessage_HubPackageList{HubPackageList: &af.HubPackageList{
				Packages: []*af.HubPackageInfo{{Name: "n", Description: "d", SkillCount: 1, McpCount: 2, Installed: true, Repository: "r"}},
			}}},
		},
		{
			"server/conversation_history", msg(24, handHistoryMessage(1), str(2, "T"), str(3, "crab"), yes(200)),
			&af.ServerMessage{Message: &af.ServerMessage_ConversationHistory{ConversationHistory: &af.ConversationHistory{
				Messages: []*af.HistoryMessage{historyMessage()}, Title: "T", Agent: "crab", Truncated: true,
			}}},
		},
		{
			"server/hello", msg(200, num(1, 1), str(2, "hub"), str(3, "user"), str(4, "talk"), str(4, "talk:admin")),
			&af.ServerMessage{Message: &af.ServerMessage_Hello{Hello: &af.HelloReply{Version: 1, Hub: "hub", Sender: "user", Scopes: []string{"talk", "talk:admin"}}}},
		},
		{
			"server/conversation_event_message",
			msg(201, str(1, "a"), str(2, "s"), str(3, "t"), num(4, 8), str(5, "r"), handHistoryMessage(10)),
			&af.ServerMessage{Message: &af.ServerMessage_ConversationEvent{ConversationEvent: &af.ConversationEvent{
				Agent: "a", Sender: "s", Thread: "t", Seq: 8, RunId: "r", Event: &af.ConversationEvent_Message{Message: historyMessage()},
			}}},
		},
		{
			"server/conversation_event_stream", msg(201, msg(11, msg(6))),
			&af.ServerMessage{Message: &af.ServerMessage_ConversationEvent{ConversationEvent: &af.ConversationEvent{
				Event: &af.ConversationEvent_Stream{Stream: &af.StreamEvent{Event: &af.StreamEvent_ToolsComplete{ToolsComplete: &af.ToolsComplete{}}}},
			}}},
		},
		{
			"server/conversation_event_caught_up", msg(201, yes(12)),
			&af.ServerMessage{Message: &af.ServerMessage_ConversationEvent{ConversationEvent: &af.ConversationEvent{Event: &af.ConversationEvent_CaughtUp{CaughtUp: true}}}},
		},
		{
			"server/conversation_event_deleted", msg(201, yes(13)),
			&af.ServerMessage{Message: &af.ServerMessage_ConversationEvent{ConversationEvent: &af.ConversationEvent{Event: &af.ConversationEvent_Deleted{Deleted: true}}}},
		},
		{
			"server/archive_list", msg(202, handArchiveInfo(1)),
			&af.ServerMessage{Message: &af.ServerMessage_ArchiveList{ArchiveList: &af.ArchiveList{Archives: []*af.ArchiveInfo{archiveInfo()}}}},
		},
		{
			"server/archive", msg(203, handArchiveInfo(1), handHistoryMessage(2), yes(3)),
			&af.ServerMessage{Message: &af.ServerMessage_Archive{Archive: &af.Archive{
				Info: archiveInfo(), Messages: []*af.HistoryMessage{historyMessage()}, Truncated: true,
			}}},
		},
		{
			"server/search_result",
			msg(204, msg(1, str(1, "message"), str(2, "conversation:x"), str(3, "i"), str(4, "a"), str(5, "s"), str(6, "t"), num(7, 8), str(8, "user"),
				str(9, "twin"), str(10, "sn"), yes(11), str(12, "at"), f32(13, 1.5), str(14, "T"),
				msg(15, num(1, 7), str(2, "tool"), str(3, "sp"), str(4, "x"), yes(5))), yes(2)),
			&af.ServerMessage{Message: &af.ServerMessage_SearchResult{SearchResult: &af.SearchResult{Truncated: true, Hits: []*af.Hit{{
				Kind: "message", FilePath: "conversation:x", ArchiveId: "i", Agent: "a", Sender: "s", Thread: "t", Seq: 8, Role: "user",
				Speaker: "twin", Snippet: "sn", Cut: true, At: "at", Score: 1.5, Title: "T",
				Window: []*af.HitNeighbour{{Seq: 7, Role: "tool", Speaker: "sp", Text: "x", Cut: true}},
			}}}}},
		},
		{
			"server/jsonl", msg(205, str(1, "{}\n"), yes(2)),
			&af.ServerMessage{Message: &af.ServerMessage_Jsonl{Jsonl: &af.Jsonl{Data: []byte("{}\n"), Last: true}}},
		},
		{
			"server/import_result", msg(206, num(1, 3), num(2, 1), num(3, 2), str(4, "conversation:x")),
			&af.ServerMessage{Message: &af.ServerMessage_ImportResult{ImportResult: &af.ImportResult{Messages: 3, Archives: 1, Skipped: 2, FilePath: "conversation:x"}}},
		},
		{
			"server/request_id", cat(num(250, 7), msg(2)),
			&af.ServerMessage{RequestId: 7, Message: &af.ServerMessage_Pong{Pong: &af.Pong{}}},
		},
	}
}

func archiveInfo() *af.ArchiveInfo {
	return &af.ArchiveInfo{Id: "i", Title: "T", Summary: "s", ArchivedAt: "at", FromSeq: 1, ToSeq: 9, Messages: 5, Thread: "t"}
}

func handArchiveInfo(n int) hand {
	return msg(n, str(1, "i"), str(2, "T"), str(3, "s"), str(4, "at"), num(5, 1), num(6, 9), num(7, 5), str(8, "t"))
}

func eventGolden() []golden {
	return []golden{
		{
			"event/start", msg(1, str(1, "crab"), str(200, "r"), num(201, 4)),
			&af.StreamEvent{Event: &af.StreamEvent_Start{Start: &af.StreamStart{Agent: "crab", RunId: "r", Seq: 4}}},
		},
		{"event/chunk", msg(2, str(1, "x")), &af.StreamEvent{Event: &af.StreamEvent_Chunk{Chunk: &af.StreamChunk{Content: "x"}}}},
		{"event/thinking", msg(3, str(1, "x")), &af.StreamEvent{Event: &af.StreamEvent_Thinking{Thinking: &af.StreamThinking{Content: "x"}}}},
		{
			"event/tool_start", msg(4, msg(1, str(1, "n"), str(2, "{}"), str(200, "c"))),
			&af.StreamEvent{Event: &af.StreamEvent_ToolStart{ToolStart: &af.ToolStart{Calls: []*af.ToolCall{{Name: "n", Arguments: "{}", CallId: "c"}}}}},
		},
		{
			"event/tool_result", msg(5, str(1, "c"), str(2, "o"), num(3, 12), yes(200), num(201, 99)),
			&af.StreamEvent{Event: &af.StreamEvent_ToolResult{ToolResult: &af.ToolResult{CallId: "c", Output: "o", DurationMs: 12, IsError: true, LeftOutBytes: 99}}},
		},
		{"event/tools_complete", msg(6), &af.StreamEvent{Event: &af.StreamEvent_ToolsComplete{ToolsComplete: &af.ToolsComplete{}}}},
		{
			"event/end", msg(7, str(1, "crab"), str(2, "e"), str(3, "p"), str(4, "m"), handUsage(5), num(200, 9), num(201, 5)),
			&af.StreamEvent{Event: &af.StreamEvent_End{End: &af.StreamEnd{
				Agent: "crab", Error: "e", Provider: "p", Model: "m", Usage: usage(), Stop: af.StopInterrupted, Seq: 5,
			}}},
		},
		{
			"event/ask_user",
			msg(8, msg(1, str(1, "q?"), str(2, "h"), msg(3, str(1, "l"), str(2, "d")), yes(4)), str(200, "i"), str(201, "at")),
			&af.StreamEvent{Event: &af.StreamEvent_AskUser{AskUser: &af.AskUser{
				Questions: []*af.Question{{Question: "q?", Header: "h", Options: []*af.QuestionOption{{Label: "l", Description: "d"}}, MultiSelect: true}},
				AskId:     "i", ExpiresAt: "at",
			}}},
		},
		{"event/queued", msg(200, num(1, 2), str(2, "r")), &af.StreamEvent{Event: &af.StreamEvent_Queued{Queued: &af.Queued{Position: 2, RunId: "r"}}}},
		{"event/steered", msg(201, str(1, "c"), num(2, 5)), &af.StreamEvent{Event: &af.StreamEvent_Steered{Steered: &af.Steered{Content: "c", Seq: 5}}}},
		{"event/segment", msg(202, num(1, 2), yes(2)), &af.StreamEvent{Event: &af.StreamEvent_Segment{Segment: &af.Segment{Kind: af.SegmentThinking, Open: true}}}},
		{
			"event/round_usage", msg(203, num(1, 1), handUsage(2), num(3, 15), num(4, 0)),
			&af.StreamEvent{Event: &af.StreamEvent_RoundUsage{RoundUsage: &af.RoundUsage{Round: 1, Usage: usage(), ContextUsed: 15, ContextLimit: proto.Uint64(0)}}},
		},
		{
			"event/compacted", msg(204, str(1, "i"), str(2, "T"), yes(3), num(4, 6), handUsage(5)),
			&af.StreamEvent{Event: &af.StreamEvent_Compacted{Compacted: &af.Compacted{ArchiveId: "i", Title: "T", Automatic: true, Messages: 6, Usage: usage()}}},
		},
		{"event/notice", msg(205, str(1, "c"), str(2, "t")), &af.StreamEvent{Event: &af.StreamEvent_Notice{Notice: &af.Notice{Code: "c", Text: "t"}}}},
		{
			"event/waiting", msg(206, str(1, "i"), str(2, "shell"), str(3, "s"), str(4, "approved")),
			&af.StreamEvent{Event: &af.StreamEvent_Waiting{Waiting: &af.Waiting{ApprovalId: "i", Tool: "shell", Summary: "s", Resolved: "approved"}}},
		},
		{"event/ask_resolved", msg(207, str(1, "i"), str(2, "b")), &af.StreamEvent{Event: &af.StreamEvent_AskResolved{AskResolved: &af.AskResolved{AskId: "i", By: "b"}}}},
	}
}
