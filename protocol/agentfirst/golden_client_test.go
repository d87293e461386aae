package agentfirst_test

import (
	"google.golang.org/protobuf/proto"

	af "parley.internal/protocol/agentfirst"
)

type golden struct {
	name string
	hand hand
	msg  proto.Message
}

func clientGolden() []golden {
	fullTurn := &af.Turn{
		Agent: "crab", Content: "hello", Sender: proto.String("user"), Cwd: proto.String("/tmp"),
		Guest: proto.String("twin"), Thread: "side", Mode: af.ModeInterrupt, Detached: true, Key: "k1", Files: []*af.FileRef{fileRef()},
	}
	handTurn := func(n int) hand {
		return msg(n, str(1, "crab"), str(2, "hello"), str(4, "user"), str(5, "/tmp"), str(6, "twin"),
			str(200, "side"), num(201, 2), yes(202), str(203, "k1"), handFileRef(204))
	}
	mcp := &af.McpInfo{
		Name: "m", Command: "c", Args: []string{"-a", "-b"}, Env: map[string]string{"K": "V"}, Url: "u", Auth: true,
		Source: "s", AutoRestart: true, Enabled: true, SourceKind: af.SourceExternal, Status: af.MCPFailed, Error: "e", ToolCount: 7,
	}
	handMcp := func(n int) hand {
		return msg(n, str(1, "m"), str(2, "c"), str(3, "-a"), str(3, "-b"), msg(4, str(1, "K"), str(2, "V")), str(5, "u"), yes(6),
			str(7, "s"), yes(8), yes(9), num(10, 3), num(11, 3), str(12, "e"), num(13, 7))
	}
	return []golden{
		{"client/send", handTurn(1), &af.ClientMessage{Message: &af.ClientMessage_Send{Send: fullTurn}}},
		{"client/stream", handTurn(2), &af.ClientMessage{Message: &af.ClientMessage_Stream{Stream: fullTurn}}},
		{
			"client/stream_plain", msg(2, str(1, "crab"), str(2, "hello"), str(4, "")),
			&af.ClientMessage{Message: &af.ClientMessage_Stream{Stream: &af.Turn{Agent: "crab", Content: "hello", Sender: proto.String("")}}},
		},
		{
			"client/reply_to_ask", msg(3, str(1, "a"), str(2, "s"), str(3, "c"), str(200, "t"), str(201, "q")),
			&af.ClientMessage{Message: &af.ClientMessage_ReplyToAsk{ReplyToAsk: &af.ReplyToAsk{Agent: "a", Sender: "s", Content: "c", Thread: "t", AskId: "q"}}},
		},
		{
			"client/list_active_conversations", msg(4, str(1, "a"), str(2, "s")),
			&af.ClientMessage{Message: &af.ClientMessage_ListActiveConversations{ListActiveConversations: &af.ListActiveConversations{Agent: "a", Sender: "s"}}},
		},
		{
			"client/kill", msg(5, str(1, "a"), str(2, "s"), str(200, "t")),
			&af.ClientMessage{Message: &af.ClientMessage_Kill{Kill: &af.Kill{Agent: "a", Sender: "s", Thread: "t"}}},
		},
		{
			"client/compact", msg(6, str(1, "a"), str(2, "s"), str(200, "t"), str(201, "f")),
			&af.ClientMessage{Message: &af.ClientMessage_Compact{Compact: &af.Compact{Agent: "a", Sender: "s", Thread: "t", Focus: "f"}}},
		},
		{
			"client/list_conversations", msg(7, str(1, "a"), str(2, "s")),
			&af.ClientMessage{Message: &af.ClientMessage_ListConversations{ListConversations: &af.ListConversations{Agent: "a", Sender: "s"}}},
		},
		{"client/list_providers", msg(8), &af.ClientMessage{Message: &af.ClientMessage_ListProviders{ListProviders: &af.ListProviders{}}}},
		{
			"client/set_provider", msg(9, str(1, "n"), str(2, "{}")),
			&af.ClientMessage{Message: &af.ClientMessage_SetProvider{SetProvider: &af.SetProvider{Name: "n", Config: "{}"}}},
		},
		{
			"client/delete_provider", msg(10, str(1, "n")),
			&af.ClientMessage{Message: &af.ClientMessage_DeleteProvider{DeleteProvider: &af.DeleteProvider{Name: "n"}}},
		},
		{
			"client/set_active_model", msg(11, str(1, "p:m")),
			&af.ClientMessage{Message: &af.ClientMessage_SetActiveModel{SetActiveModel: &af.SetActiveModel{Model: "p:m"}}},
		},
		{"client/list_provider_presets", msg(12), &af.ClientMessage{Message: &af.ClientMessage_ListProviderPresets{ListProviderPresets: &af.ListProviderPresets{}}}},
		{"client/list_mcps", msg(13), &af.ClientMessage{Message: &af.ClientMessage_ListMcps{ListMcps: &af.ListMcps{}}}},
		{
			"client/set_local_mcps", msg(14, handMcp(1)),
			&af.ClientMessage{Message: &af.ClientMessage_SetLocalMcps{SetLocalMcps: &af.SetLocalMcps{Mcps: []*af.McpInfo{mcp}}}},
		},
		{"client/list_agents", msg(15), &af.ClientMessage{Message: &af.ClientMessage_ListAgents{ListAgents: &af.ListAgents{}}}},
		{"client/get_agent", msg(16, str(1, "n")), &af.ClientMessage{Message: &af.ClientMessage_GetAgent{GetAgent: &af.GetAgent{Name: "n"}}}},
		{
			"client/create_agent", msg(17, str(1, "n"), str(2, "{}")),
			&af.ClientMessage{Message: &af.ClientMessage_CreateAgent{CreateAgent: &af.CreateAgent{Name: "n", Config: "{}"}}},
		},
		{
			"client/update_agent", msg(18, str(1, "n"), str(2, "{}")),
			&af.ClientMessage{Message: &af.ClientMessage_UpdateAgent{UpdateAgent: &af.UpdateAgent{Name: "n", Config: "{}"}}},
		},
		{"client/delete_agent", msg(19, str(1, "n")), &af.ClientMessage{Message: &af.ClientMessage_DeleteAgent{DeleteAgent: &af.DeleteAgent{Name: "n"}}}},
		{
			"client/install_package", msg(20, str(1, "p"), str(2, "b"), str(3, "d"), yes(4)),
			&af.ClientMessage{Message: &af.ClientMessage_InstallPackage{InstallPackage: &af.InstallPackage{Package: "p", Branch: "b", Path: "d", Force: true}}},
		},
		{
			"client/uninstall_package", msg(21, str(1, "p")),
			&af.ClientMessage{Message: &af.ClientMessage_UninstallPackage{UninstallPackage: &af.UninstallPackage{Package: "p"}}},
		},
		{"client/list_packages", msg(22), &af.ClientMessage{Message: &af.ClientMessage_ListPackages{ListPackages: &af.ListPackages{}}}},
		{"client/list_skills", msg(23), &af.ClientMessage{Message: &af.ClientMessage_ListSkills{ListSkills: &af.ListSkills{}}}},
		{
			"client/start_service", msg(24, str(1, "n"), yes(2)),
			&af.ClientMessage{Message: &af.ClientMessage_StartService{StartService: &af.StartService{Name: "n", Force: true}}},
		},
		{"client/stop_service", msg(25, str(1, "n")), &af.ClientMessage{Message: &af.ClientMessage_StopService{StopService: &af.StopService{Name: "n"}}}},
		{
			"client/service_logs", msg(26, str(1, "n"), num(2, 9)),
			&af.ClientMessage{Message: &af.ClientMessage_ServiceLogs{ServiceLogs: &af.ServiceLogs{Name: "n", Lines: 9}}},
		},
		{
			"client/create_cron",
			msg(27, str(1, "* * * * *"), str(2, "sk"), str(3, "a"), str(4, "22:00"), str(5, "06:00"), yes(6), str(7, "s"), str(200, "t")),
			&af.ClientMessage{Message: &af.ClientMessage_CreateCron{CreateCron: &af.CreateCron{
				Schedule: "* * * * *", Skill: "sk", Agent: "a",
				QuietStart: proto.String("22:00"), QuietEnd: proto.String("06:00"), Once: true, Sender: "s", Thread: "t",
			}}},
		},
		{"client/delete_cron", msg(28, num(1, 300)), &af.ClientMessage{Message: &af.ClientMessage_DeleteCron{DeleteCron: &af.DeleteCron{Id: 300}}}},
		{"client/list_crons", msg(29), &af.ClientMessage{Message: &af.ClientMessage_ListCrons{ListCrons: &af.ListCrons{}}}},
		{"client/ping", msg(30), &af.ClientMessage{Message: &af.ClientMessage_Ping{Ping: &af.Ping{}}}},
		{"client/get_config", msg(31), &af.ClientMessage{Message: &af.ClientMessage_GetConfig{GetConfig: &af.GetConfig{}}}},
		{"client/reload", msg(32), &af.ClientMessage{Message: &af.ClientMessage_Reload{Reload: &af.Reload{}}}},
		{"client/get_stats", msg(33), &af.ClientMessage{Message: &af.ClientMessage_GetStats{GetStats: &af.GetStats{}}}},
		{
			"client/subscribe_events", msg(34, str(200, "a"), str(201, "s")),
			&af.ClientMessage{Message: &af.ClientMessage_SubscribeEvents{SubscribeEvents: &af.SubscribeEvents{Agent: "a", Sender: "s"}}},
		},
		{
			"client/set_enabled", msg(35, num(1, 3), str(2, "n"), yes(3)),
			&af.ClientMessage{Message: &af.ClientMessage_SetEnabled{SetEnabled: &af.SetEnabled{Kind: af.ResourceSkill, Name: "n", Enabled: true}}},
		},
		{"client/list_models", msg(36), &af.ClientMessage{Message: &af.ClientMessage_ListModels{ListModels: &af.ListModels{}}}},
		{"client/search_hub", msg(37, str(1, "q")), &af.ClientMessage{Message: &af.ClientMessage_SearchHub{SearchHub: &af.SearchHub{Query: "q"}}}},
		{
			"client/get_conversation_history", msg(38, str(1, "conversation:x"), num(200, 9), num(201, 5), yes(202)),
			&af.ClientMessage{Message: &af.ClientMessage_GetConversationHistory{GetConversationHistory: &af.GetConversationHistory{
				FilePath: "conversation:x", BeforeSeq: 9, Limit: 5, Archived: true,
			}}},
		},
		{
			"client/delete_conversation", msg(39, str(1, "conversation:x")),
			&af.ClientMessage{Message: &af.ClientMessage_DeleteConversation{DeleteConversation: &af.DeleteConversation{FilePath: "conversation:x"}}},
		},
		{
			"client/hello", msg(200, num(1, 1), str(2, "tok"), str(3, "cli")),
			&af.ClientMessage{Message: &af.ClientMessage_Hello{Hello: &af.Hello{Version: 1, Token: "tok", Client: "cli"}}},
		},
		{
			"client/cancel", msg(201, str(1, "a"), str(2, "s"), str(3, "r"), str(200, "t")),
			&af.ClientMessage{Message: &af.ClientMessage_Cancel{Cancel: &af.Cancel{Agent: "a", Sender: "s", RunId: "r", Thread: "t"}}},
		},
		{
			"client/attach", msg(202, str(1, "a"), str(2, "s"), num(3, 7), num(4, 20), str(200, "t")),
			&af.ClientMessage{Message: &af.ClientMessage_Attach{Attach: &af.Attach{Agent: "a", Sender: "s", AfterSeq: 7, History: 20, Thread: "t"}}},
		},
		{
			"client/detach", msg(203, str(1, "a"), str(2, "s"), str(200, "t")),
			&af.ClientMessage{Message: &af.ClientMessage_Detach{Detach: &af.Detach{Agent: "a", Sender: "s", Thread: "t"}}},
		},
		{
			"client/list_archives", msg(204, str(1, "a"), str(2, "s"), num(3, 5), str(4, "b"), str(200, "t")),
			&af.ClientMessage{Message: &af.ClientMessage_ListArchives{ListArchives: &af.ListArchives{Agent: "a", Sender: "s", Limit: 5, Before: "b", Thread: "t"}}},
		},
		{
			"client/get_archive", msg(205, str(1, "i"), num(2, 4), num(3, 5)),
			&af.ClientMessage{Message: &af.ClientMessage_GetArchive{GetArchive: &af.GetArchive{Id: "i", AfterSeq: 4, Limit: 5}}},
		},
		{
			"client/search",
			msg(206, str(1, "q"), str(2, "a"), str(3, "s"), num(4, 10), num(5, 2), str(6, "af"), str(7, "be"), str(200, "t")),
			&af.ClientMessage{Message: &af.ClientMessage_Search{Search: &af.Search{
				Query: "q", Agent: "a", Sender: "s", Limit: 10, Window: 2, After: "af", Before: "be", Thread: "t",
			}}},
		},
		{
			"client/export", msg(207, str(1, "conversation:x")),
			&af.ClientMessage{Message: &af.ClientMessage_Export{Export: &af.Export{FilePath: "conversation:x"}}},
		},
		{
			"client/import", msg(208, str(1, "\x00\xff"), str(2, "a"), str(3, "s"), yes(4), yes(5), str(200, "t")),
			&af.ClientMessage{Message: &af.ClientMessage_Import{Import: &af.Import{
				Data: []byte{0, 0xff}, Agent: "a", Sender: "s", Append: true, Last: true, Thread: "t",
			}}},
		},
		{
			"client/set_title", msg(209, str(1, "conversation:x"), str(2, "T")),
			&af.ClientMessage{Message: &af.ClientMessage_SetTitle{SetTitle: &af.SetTitle{FilePath: "conversation:x", Title: "T"}}},
		},
		{
			// The order of fields is free; this is the one Go writes.
			"client/request_id", cat(num(250, 1<<40), msg(30)),
			&af.ClientMessage{RequestId: 1 << 40, Message: &af.ClientMessage_Ping{Ping: &af.Ping{}}},
		},
	}
}
