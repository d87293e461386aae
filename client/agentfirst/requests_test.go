package agentfirst_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	client "parley.internal/client/agentfirst"
	wire "parley.internal/protocol/agentfirst"
)

// answers maps the number of a request to what it is answered with.
func answers() map[int]*wire.ServerMessage {
	all := map[int]*wire.ServerMessage{
		1:  {Message: &wire.ServerMessage_Response{Response: &wire.Response{Content: "hi"}}},
		4:  {Message: &wire.ServerMessage_ActiveConversations{ActiveConversations: &wire.ActiveConversations{Conversations: []*wire.ActiveConversationInfo{{}}}}},
		6:  {Message: &wire.ServerMessage_Compact{Compact: &wire.CompactResult{}}},
		7:  {Message: &wire.ServerMessage_ConversationList{ConversationList: &wire.ConversationList{Conversations: []*wire.ConversationInfo{{}}}}},
		8:  {Message: &wire.ServerMessage_ProviderList{ProviderList: &wire.ProviderList{Providers: []*wire.ProviderInfo{{}}}}},
		9:  {Message: &wire.ServerMessage_ProviderList{ProviderList: &wire.ProviderList{Providers: []*wire.ProviderInfo{{}}}}},
		12: {Message: &wire.ServerMessage_ProviderPresetList{ProviderPresetList: &wire.ProviderPresetList{Presets: []*wire.ProviderPreset{{}}}}},
		13: {Message: &wire.ServerMessage_McpList{McpList: &wire.McpList{Mcps: []*wire.McpInfo{{}}}}},
		15: {Message: &wire.ServerMessage_AgentList{AgentList: &wire.AgentList{Agents: []*wire.AgentInfo{{}}}}},
		16: {Message: &wire.ServerMessage_AgentInfo{AgentInfo: &wire.AgentInfo{}}},
		17: {Message: &wire.ServerMessage_AgentInfo{AgentInfo: &wire.AgentInfo{}}},
		18: {Message: &wire.ServerMessage_AgentInfo{AgentInfo: &wire.AgentInfo{}}},
		20: {Message: &wire.ServerMessage_HubEvent{HubEvent: &wire.HubEvent{Event: &wire.HubEvent_Done{Done: &wire.HubDone{}}}}},
		21: {Message: &wire.ServerMessage_HubEvent{HubEvent: &wire.HubEvent{Event: &wire.HubEvent_Done{Done: &wire.HubDone{}}}}},
		22: {Message: &wire.ServerMessage_PackageList{PackageList: &wire.PackageList{Packages: []*wire.PackageInfo{{}}}}},
		23: {Message: &wire.ServerMessage_SkillList{SkillList: &wire.SkillList{Skills: []*wire.SkillInfo{{}}}}},
		26: {Message: &wire.ServerMessage_ServiceLogOutput{ServiceLogOutput: &wire.ServiceLogOutput{Content: "log"}}},
		27: {Message: &wire.ServerMessage_CronInfo{CronInfo: &wire.CronInfo{}}},
		29: {Message: &wire.ServerMessage_CronList{CronList: &wire.CronList{Crons: []*wire.CronInfo{{}}}}},
		31: {Message: &wire.ServerMessage_Config{Config: &wire.ConfigReply{Config: "c"}}},
		33: {Message: &wire.ServerMessage_Stats{Stats: &wire.Stats{}}},
		36: {Message: &wire.ServerMessage_ModelList{ModelList: &wire.ModelList{Models: []*wire.ModelInfo{{}}}}},
		37: {Message: &wire.ServerMessage_HubPackageList{HubPackageList: &wire.HubPackageList{Packages: []*wire.HubPackageInfo{{}}}}},
		38: {Message: &wire.ServerMessage_ConversationHistory{ConversationHistory: &wire.ConversationHistory{}}},

		204: {Message: &wire.ServerMessage_ArchiveList{ArchiveList: &wire.ArchiveList{Archives: []*wire.ArchiveInfo{{}}}}},
		205: {Message: &wire.ServerMessage_Archive{Archive: &wire.Archive{}}},
		206: {Message: &wire.ServerMessage_SearchResult{SearchResult: &wire.SearchResult{}}},
		207: {Message: &wire.ServerMessage_Jsonl{Jsonl: &wire.Jsonl{Last: true}}},
		208: {Message: &wire.ServerMessage_ImportResult{ImportResult: &wire.ImportResult{}}},
	}
	for _, n := range []int{3, 5, 10, 11, 14, 19, 24, 25, 28, 30, 32, 35, 39, 201, 203, 209} {
		all[n] = pong()
	}
	return all
}

// answering answers each request after hello from the table.
func answering(seen chan<- int, table map[int]*wire.ServerMessage) func(*fakeConn) {
	return func(c *fakeConn) {
		c.hello()
		for m := c.recv(); m != nil; m = c.recv() {
			number, _ := wire.ClientVariant(m)
			seen <- number
			c.send(m, table[number])
		}
	}
}

// requests are all requests with one answer, by number.
func requests(c *client.Client) map[int]func(context.Context) error {
	return map[int]func(context.Context) error{
		1: func(ctx context.Context) error { return second(c.Send(ctx, &wire.Turn{Agent: "a"})) },
		3: func(ctx context.Context) error { return c.ReplyToAsk(ctx, &wire.ReplyToAsk{}) },
		4: func(ctx context.Context) error { return one(c.ListActiveConversations(ctx, "", "")) },
		5: func(ctx context.Context) error { return c.Kill(ctx, &wire.Kill{}) },
		6: func(ctx context.Context) error { return second(c.Compact(ctx, &wire.Compact{})) },
		7: func(ctx context.Context) error { return one(c.ListConversations(ctx, "", "")) },
		8: func(ctx context.Context) error { return one(c.ListProviders(ctx)) },
		9: func(ctx context.Context) error { return one(c.SetProvider(ctx, "p", "{}")) },

		10: func(ctx context.Context) error { return c.DeleteProvider(ctx, "p") },
		11: func(ctx context.Context) error { return c.SetActiveModel(ctx, "p:m") },
		12: func(ctx context.Context) error { return one(c.ListProviderPresets(ctx)) },
		13: func(ctx context.Context) error { return one(c.ListMcps(ctx)) },
		14: func(ctx context.Context) error { return c.SetLocalMcps(ctx, nil) },
		15: func(ctx context.Context) error { return one(c.ListAgents(ctx)) },
		16: func(ctx context.Context) error { return second(c.GetAgent(ctx, "a")) },
		17: func(ctx context.Context) error { return second(c.CreateAgent(ctx, "a", "{}")) },
		18: func(ctx context.Context) error { return second(c.UpdateAgent(ctx, "a", "{}")) },
		19: func(ctx context.Context) error { return c.DeleteAgent(ctx, "a") },
		20: func(ctx context.Context) error { return firstError(c.InstallPackage(ctx, &wire.InstallPackage{})) },
		21: func(ctx context.Context) error { return firstError(c.UninstallPackage(ctx, "p")) },
		22: func(ctx context.Context) error { return one(c.ListPackages(ctx)) },
		23: func(ctx context.Context) error { return one(c.ListSkills(ctx)) },
		24: func(ctx context.Context) error { return c.StartService(ctx, "s", true) },
		25: func(ctx context.Context) error { return c.StopService(ctx, "s") },
		26: func(ctx context.Context) error { return second(c.ServiceLogs(ctx, "s", 5)) },
		27: func(ctx context.Context) error { return second(c.CreateCron(ctx, &wire.CreateCron{})) },
		28: func(ctx context.Context) error { return c.DeleteCron(ctx, 1) },
		29: func(ctx context.Context) error { return one(c.ListCrons(ctx)) },
		30: c.Ping,
		31: func(ctx context.Context) error { return second(c.GetConfig(ctx)) },
		32: c.Reload,
		33: func(ctx context.Context) error { return second(c.GetStats(ctx)) },
		35: func(ctx context.Context) error { return c.SetEnabled(ctx, wire.ResourceSkill, "s", true) },
		36: func(ctx context.Context) error { return one(c.ListModels(ctx)) },
		37: func(ctx context.Context) error { return one(c.SearchHub(ctx, "q")) },
		38: func(ctx context.Context) error {
			return second(c.GetConversationHistory(ctx, &wire.GetConversationHistory{}))
		},
		39: func(ctx context.Context) error { return c.DeleteConversation(ctx, "conversation:x") },

		201: func(ctx context.Context) error { return c.Cancel(ctx, &wire.Cancel{}) },
		203: func(ctx context.Context) error {
			return second(c.Do(ctx, &wire.ClientMessage{Message: &wire.ClientMessage_Detach{Detach: &wire.Detach{}}}))
		},
		204: func(ctx context.Context) error { return one(c.ListArchives(ctx, &wire.ListArchives{})) },
		205: func(ctx context.Context) error { return second(c.GetArchive(ctx, &wire.GetArchive{})) },
		206: func(ctx context.Context) error { return second(c.Search(ctx, &wire.Search{})) },
		207: func(ctx context.Context) error { return c.Export(ctx, "conversation:x", &bytes.Buffer{}) },
		208: func(ctx context.Context) error {
			return second(c.Import(ctx, bytes.NewReader(nil), &wire.Import{}))
		},
		209: func(ctx context.Context) error { return c.SetTitle(ctx, "conversation:x", "t") },
	}
}

func one[T any](list []T, err error) error {
	if err == nil && len(list) != 1 {
		return errors.New("the list did not arrive")
	}
	return err
}

func TestEveryRequestSendsItsVariantAndUnderstandsTheAnswer(t *testing.T) {
	seen := make(chan int, 1)
	c := dialFake(t, &fakeServer{handle: answering(seen, answers())}, client.Options{})
	all := requests(c)
	for number, do := range all {
		if err := do(t.Context()); err != nil {
			t.Errorf("%d: %v; want no error", number, err)
		}
		if got := <-seen; got != number {
			t.Errorf("request %d was sent as %d", number, got)
		}
	}
	// 2 stream, 34 subscribe_events, 200 hello and 202 attach have their own tests.
	if want := 39 - 2 + 10 - 2; len(all) != want {
		t.Errorf("%d requests tried, want %d", len(all), want)
	}
}

func TestEveryErrorAnswerIsATypedError(t *testing.T) {
	seen := make(chan int, 1)
	table := answers()
	for number := range table {
		table[number] = wire.NewError(404, "not here")
	}
	c := dialFake(t, &fakeServer{handle: answering(seen, table)}, client.Options{})
	for number, do := range requests(c) {
		if err := do(t.Context()); !errors.Is(err, client.ErrNotFound) {
			t.Errorf("%d: %v; want client.ErrNotFound", number, err)
		}
		<-seen
	}
}

func TestAnAnswerToSomethingElseIsNoticed(t *testing.T) {
	seen := make(chan int, 1)
	table := answers()
	for number := range table {
		table[number] = helloReply()
	}
	delete(table, 203) // Do returns whatever was answered
	c := dialFake(t, &fakeServer{handle: answering(seen, table)}, client.Options{})
	for number, do := range requests(c) {
		if number == 203 {
			continue
		}
		if err := do(t.Context()); !errors.Is(err, client.ErrUnexpectedAnswer) {
			t.Errorf("%d: %v; want client.ErrUnexpectedAnswer", number, err)
		}
		<-seen
	}
}
