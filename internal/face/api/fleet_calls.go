package api

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"parley/internal/fleet"
	fleetcall "parley/internal/fleet/call"
	"parley/internal/fleet/fault"
	"parley/internal/identity"
)

func (fr fleetRoutes) callRoutes() {
	const read, sensitive = identity.FleetRead, identity.FleetSensitive
	const look = "and GET /api/fleet/calls/{call_id} tells how it goes on"
	fr.json("POST", "/api/machines/{id}/calls", "", "Do something on a machine: {tool, args, timeout_s?, queue_for_s?, approval_wait_s?}; needs the scope of the tool's class. 202 with state queued, or asking: a person must say yes first, "+look, fr.call)
	fr.json("POST", "/api/machines/{id}/collect", "", "Measure a machine now: {sections?}", fr.collect)
	fr.json("POST", "/api/fleet/calls", "", "One call on many machines: {machines? | tag? | all?, tool, args, canary?, parallel?, stop_on_error?, approval_wait_s?}. 202 with state asking: one question for all of them, "+look, fr.fanOut)
	fr.raw("GET", "/api/fleet/calls", read, "The call log, newest first; query: machine, tool, actor, state, since, until, limit, cursor, format=jsonl", "application/json", fr.calls)
	fr.raw("GET", "/api/machines/{id}/calls", read, "The call log of a machine", "application/json", fr.calls)
	fr.json("GET", "/api/fleet/calls/{call_id}", read, "How a call stands", fr.callStatus)
	fr.json("DELETE", "/api/fleet/calls/{call_id}", read, "Cancel a call", fr.cancelCall)
	fr.json("GET", "/api/machines/{id}/screenshots", sensitive, "Pictures of a machine's screen, newest first", fr.screenshots)
	fr.json("POST", "/api/machines/{id}/screenshots", sensitive, "Take one", fr.takeScreenshot)
	fr.raw("GET", "/api/machines/{id}/screenshots/{file}", sensitive, "A picture: N.png, or latest.png", "image/png", fr.screenshot)
	fr.json("DELETE", "/api/machines/{id}/screenshots/{file}", sensitive, "Delete a picture: N.png", fr.removeScreenshot)
}

// seconds bounds what callers may write as a duration; the domain has the rules.
func seconds(n int64) time.Duration {
	const most = int64(100 * 24 * time.Hour / time.Second)
	return time.Duration(max(-1, min(n, most))) * time.Second
}

type callBody struct {
	Tool      string         `json:"tool"`
	Args      jsontext.Value `json:"args"`
	TimeoutS  int64          `json:"timeout_s"`
	QueueForS int64          `json:"queue_for_s"`
	patienceBody
}

// patienceBody is how long a request waits for a person's yes before it is answered
// with what to look at instead.
type patienceBody struct {
	ApprovalWaitS *int64 `json:"approval_wait_s"`
}

// longestWait keeps a request shorter than the minute after which clients and
// proxies give up.
const longestWait = 50 * time.Second

func (p patienceBody) wait() time.Duration {
	if p.ApprovalWaitS == nil {
		return longestWait
	}
	// 0 is at once; for the domain it would be no limit.
	return min(max(seconds(*p.ApprovalWaitS), time.Nanosecond), longestWait)
}

func (fr fleetRoutes) call(r *http.Request, who identity.Actor) (int, any, error) {
	var body callBody
	if err := readFleetBody(r, &body); err != nil {
		return 0, nil, err
	}
	done, err := fr.fleet.Call(r.Context(), who, fleetcall.Request{
		Machine: r.PathValue("id"), Tool: body.Tool, Args: body.Args, Timeout: seconds(body.TimeoutS), QueueFor: seconds(body.QueueForS), ApprovalWait: body.wait(),
	})
	return callAnswer(done, err)
}

// asking is the answer for a call that waits for a person's yes.
func asking(err error) (int, any, error) {
	e, ok := errors.AsType[*fault.Error](err)
	if !ok || e.Code != fault.ApprovalPending {
		return 0, nil, err
	}
	return http.StatusAccepted, map[string]any{
		"ok": true, "state": fleetcall.StateAsking, "code": e.Code, "message": "a person must say yes first", "call_id": e.CallID, "approval_id": e.ApprovalID,
	}, nil
}

// callAnswer is 200 with the result, or 202 for a call that waits.
func callAnswer(done fleetcall.Result, err error) (int, any, error) {
	if err != nil {
		return asking(err)
	}
	if done.State == fleetcall.StateQueued {
		return http.StatusAccepted, map[string]any{"ok": true, "state": done.State, "call_id": done.CallID, "expires_at": done.Expires}, nil
	}
	return http.StatusOK, map[string]any{"ok": true, "call_id": done.CallID, "result": done.Result, "duration_ms": done.Duration.Milliseconds()}, nil
}

func (fr fleetRoutes) collect(r *http.Request, who identity.Actor) (int, any, error) {
	var body struct {
		Sections []string `json:"sections"`
	}
	if err := readFleetBody(r, &body); err != nil {
		return 0, nil, err
	}
	done, err := fr.fleet.Collect(r.Context(), who, r.PathValue("id"), body.Sections)
	return callAnswer(done, err)
}

func (fr fleetRoutes) fanOut(r *http.Request, who identity.Actor) (int, any, error) {
	var body struct {
		Machines    []string       `json:"machines"`
		Tag         string         `json:"tag"`
		All         bool           `json:"all"`
		Tool        string         `json:"tool"`
		Args        jsontext.Value `json:"args"`
		TimeoutS    int64          `json:"timeout_s"`
		QueueForS   int64          `json:"queue_for_s"`
		Canary      int            `json:"canary"`
		Parallel    int            `json:"parallel"`
		StopOnError bool           `json:"stop_on_error"`
		patienceBody
	}
	if err := readFleetBody(r, &body); err != nil {
		return 0, nil, err
	}
	v, err := fr.fleet.FanOut(r.Context(), who, fleet.FanRequest{
		Machines: body.Machines, Tag: body.Tag, All: body.All, Tool: body.Tool, Args: body.Args, Timeout: seconds(body.TimeoutS),
		QueueFor: seconds(body.QueueForS), Canary: body.Canary, Parallel: body.Parallel, StopOnError: body.StopOnError,
		ApprovalWait: body.wait(),
	})
	if err != nil {
		return asking(err)
	}
	return http.StatusOK, v, nil
}

func callFilter(r *http.Request) (fleetcall.Filter, error) {
	q := r.URL.Query()
	f := fleetcall.Filter{Machine: r.PathValue("id"), Tool: q.Get("tool"), Actor: q.Get("actor"), Cursor: q.Get("cursor")}
	if f.Machine == "" {
		f.Machine = q.Get("machine")
	}
	for state := range strings.SplitSeq(q.Get("state"), ",") {
		if state != "" {
			f.States = append(f.States, fleetcall.State(state))
		}
	}
	var err error
	if f.Since, err = moment(r, "since"); err != nil {
		return f, err
	}
	if f.Until, err = moment(r, "until"); err != nil {
		return f, err
	}
	f.Limit, err = number(r, "limit")
	return f, err
}

func (fr fleetRoutes) calls(w http.ResponseWriter, r *http.Request, who identity.Actor) error {
	f, err := callFilter(r)
	if err != nil {
		return err
	}
	if r.URL.Query().Get("format") != "jsonl" {
		page, err := fr.fleet.Calls(r.Context(), who, f)
		if err != nil {
			return err
		}
		return wireJSON(w, http.StatusOK, page)
	}
	out := &lateWriter{w: w, head: func(h http.Header) {
		h.Set("Content-Type", "application/jsonl")
		h.Set("Content-Disposition", `attachment; filename="parley-calls.jsonl"`)
		h.Set("Cache-Control", "no-store")
	}}
	err = fr.fleet.ExportCalls(r.Context(), who, f, out)
	if err != nil && out.begun {
		panic(http.ErrAbortHandler) // cutting it is the only honest way to say so
	}
	return err
}

func (fr fleetRoutes) callStatus(r *http.Request, who identity.Actor) (int, any, error) {
	v, err := fr.fleet.CallStatus(r.Context(), who, r.PathValue("call_id"))
	return http.StatusOK, v, err
}

func (fr fleetRoutes) cancelCall(r *http.Request, who identity.Actor) (int, any, error) {
	v, err := fr.fleet.CancelCall(r.Context(), who, r.PathValue("call_id"))
	return http.StatusOK, v, err
}

func (fr fleetRoutes) screenshots(r *http.Request, who identity.Actor) (int, any, error) {
	list, err := fr.fleet.Screenshots(r.Context(), who, r.PathValue("id"))
	if err == nil && len(list) == 0 {
		err = &fault.Error{Code: fault.NotFound, Message: "there is no screenshot of this machine yet"}
	}
	return http.StatusOK, map[string]any{"screenshots": list}, err
}

func (fr fleetRoutes) takeScreenshot(r *http.Request, who identity.Actor) (int, any, error) {
	s, err := fr.fleet.TakeScreenshot(r.Context(), who, fleetcall.Request{Machine: r.PathValue("id")})
	return http.StatusOK, s, err
}

// pictureNumber reads N.png; latest.png is 0.
func pictureNumber(r *http.Request) (int64, error) {
	name, ok := strings.CutSuffix(r.PathValue("file"), ".png")
	if name == "latest" && ok {
		return 0, nil
	}
	n, err := strconv.ParseInt(name, 10, 64)
	if err != nil || !ok || n <= 0 {
		return 0, &fault.Error{Code: fault.NotFound, Message: "there is no such screenshot"}
	}
	return n, nil
}

func (fr fleetRoutes) screenshot(w http.ResponseWriter, r *http.Request, who identity.Actor) error {
	n, err := pictureNumber(r)
	if err != nil {
		return err
	}
	picture, err := fr.fleet.ScreenshotPNG(r.Context(), who, r.PathValue("id"), n)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "image/png")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(picture) // the client left
	return nil
}

func (fr fleetRoutes) removeScreenshot(r *http.Request, who identity.Actor) (int, any, error) {
	n, err := pictureNumber(r)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, map[string]any{"ok": true}, fr.fleet.RemoveScreenshot(r.Context(), who, r.PathValue("id"), n)
}
