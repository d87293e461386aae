package cluster_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"parley.internal/client/viber"
	wire "parley.internal/protocol/viber"
	"parley.internal/test/hubtest"
	"parley.internal/test/natstest"
	"parley.internal/test/pgtest"
)

// A restart of PostgreSQL that took 2.5 s failed every task that was running, with the
// reason that the hub was restarted. It is ridden out: what could not be written is written
// when the server is back, and no hub takes another for dead because neither could say
// that it lives.
func TestAShortOutageOfPostgresIsRiddenOut(t *testing.T) {
	t.Parallel()
	target, err := url.Parse(pgtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	way, node := hubtest.NewCutter(t, target.Host), natstest.Run(t)
	target.Host = way.Address()
	start := func(name string) *hubtest.Hub {
		return hubtest.Start(t, hubtest.Config{Args: []string{"--db", target.String(), "--nats", node.URL(), "--name", name}, Env: []string{hubtest.Visits, "PARLEY_MODEL=offline"}})
	}
	runs := start("runs")
	start("looks-on")
	c := board(t, runs, runs.Owner)
	words := strings.Repeat("word ", 200)
	var tasks []*viber.Task
	for range 20 {
		tasks = append(tasks, goal(t, c, "/say Begun.\n/pace 40\n/say "+words, func(o *wire.TaskOptions) { o.OnRestart = wire.OnRestartFail }))
	}
	for _, task := range tasks {
		events(t, task, 0, func(e wire.TaskEvent) bool { _, ok := e.(*wire.TaskDelta); return ok })
	}
	way.Bar()
	<-time.After(2500 * time.Millisecond)
	way.Unbar()
	for i, task := range tasks {
		end, err := task.Wait(t.Context())
		if err != nil || end == nil || !strings.HasSuffix(strings.TrimSpace(end.Result.Text), "word") {
			t.Errorf("task %d ended with %+v, %v; want it to have noticed nothing", i, end, err)
		}
	}
}
