package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"parley.internal/internal/fleet"
	fleetcall "parley.internal/internal/fleet/call"
	"parley.internal/internal/fleet/fault"
	"parley.internal/internal/identity"
	"parley.internal/protocol/rest"
)

func (fr fleetRoutes) callRoutes() {
	const read, sensitive = identity.FleetRead, identity.FleetSensitive
	serve(fr, "", rest.CallMachine, fr.call)
	serve(fr, "", rest.CollectMachine, fr.collect)
	serve(fr, "", rest.CallMachines, fr.fanOut)
	stream(fr, read, rest.ListCalls, fr.calls)
	stream(fr, read, rest.ListMachineCalls, fr.calls)
	serve(fr, read, rest.GetCall, fr.callStatus)
	serve(fr, read, rest.CancelCall, fr.cancelCall)
	serve(fr, sensitive, rest.ListScreenshots, fr.screenshots)
	serve(fr, sensitive, rest.TakeScreenshot, fr.takeScreenshot)
	stream(fr, sensitive, rest.ScreenshotImage, fr.screenshot)
	serve(fr, sensitive, rest.RemoveScreenshot, fr.removeScreenshot)
}

// seconds bounds what callers may write as a duration; the domain has the rules.
func seconds(n int64) time.Duration {
	const most = int64(100 * 24 * time.Hour / time.Second)
	return time.Duration(max(-1, min(n, most))) * time.Second
}

// longestWait keeps a request shorter than the minute after which clients and
// proxies give up.
const longestWait = 50 * time.Second

// patience is how long a request waits for a person's yes before it is answered
// with what to look at instead.
func patience(c rest.Call) time.Duration {
	if c.ApprovalWaitS == nil {
		return longestWait
	}
	// 0 is at once; for the domain it would be no limit.
	return min(max(seconds(*c.ApprovalWaitS), time.Nanosecond), longestWait)
}

func (fr fleetRoutes) call(ctx context.Context, who identity.Actor, in *rest.MachineCall) (rest.CallAnswer, error) {
	c := in.Body
	done, err := fr.fleet.Call(ctx, who, fleetcall.Request{
		Machine: in.ID, Tool: c.Tool, Args: c.Args, Timeout: seconds(c.TimeoutS), QueueFor: seconds(c.QueueForS), ApprovalWait: patience(c),
	})
	return callAnswer(ctx, done, err)
}

// asking is the answer for a call that waits for a person's yes: 202.
func asking(ctx context.Context, err error) (rest.CallAnswer, error) {
	e, ok := errors.AsType[*fault.Error](err)
	if !ok || e.Code != fault.ApprovalPending {
		return rest.CallAnswer{}, err
	}
	callOf(ctx).status = http.StatusAccepted
	return rest.CallAnswer{OK: true, State: rest.StateAsking, Code: e.Code, Message: "a person must say yes first", CallID: e.CallID, ApprovalID: e.ApprovalID}, nil
}

// callAnswer is 200 with the result, or 202 for a call that waits.
func callAnswer(ctx context.Context, done fleetcall.Result, err error) (rest.CallAnswer, error) {
	if err != nil {
		return asking(ctx, err)
	}
	if done.State == rest.StateQueued {
		callOf(ctx).status = http.StatusAccepted
		return rest.CallAnswer{OK: true, State: done.State, CallID: done.CallID, Expires: done.Expires}, nil
	}
	took := done.Duration.Milliseconds()
	return rest.CallAnswer{OK: true, CallID: done.CallID, Result: done.Result, DurationMS: &took}, nil
}

func (fr fleetRoutes) collect(ctx context.Context, who identity.Actor, in *rest.Collection) (rest.CallAnswer, error) {
	done, err := fr.fleet.Collect(ctx, who, in.ID, in.Body.Sections)
	return callAnswer(ctx, done, err)
}

func (fr fleetRoutes) fanOut(ctx context.Context, who identity.Actor, in *rest.FanOut) (rest.FanAnswer, error) {
	v, err := fr.fleet.FanOut(ctx, who, fleet.FanRequest{
		Machines: in.Machines, Tag: in.Tag, All: in.All, Tool: in.Tool, Args: in.Args, Timeout: seconds(in.TimeoutS),
		QueueFor: seconds(in.QueueForS), Canary: in.Canary, Parallel: in.Parallel, StopOnError: in.StopOnError, ApprovalWait: patience(in.Call),
	})
	if err != nil {
		asked, err := asking(ctx, err)
		return rest.FanAnswer{CallAnswer: &asked}, err
	}
	return rest.FanAnswer{FanResult: &v}, nil
}

func callFilter(q rest.CallQuery) fleetcall.Filter {
	return fleetcall.Filter{
		Machine: q.Machine, Tool: q.Tool, Actor: q.Actor, Cursor: q.Cursor, Since: q.Since, Until: q.Until, Limit: q.Limit,
		States: each(q.States, func(s string) rest.CallState { return rest.CallState(s) }),
	}
}

func (fr fleetRoutes) calls(w http.ResponseWriter, r *http.Request, who identity.Actor) error {
	var in rest.MachineCallQuery
	if err := fleetDialect.decode(r, &in, false); err != nil {
		return err
	}
	if in.ID != "" {
		in.Machine = in.ID
	}
	if in.Format != "jsonl" {
		page, err := fr.fleet.Calls(r.Context(), who, callFilter(in.CallQuery))
		if err != nil {
			return err
		}
		return fleetDialect.answer(&call{w: w, r: r}, page)
	}
	out := &lateWriter{w: w, head: func(h http.Header) {
		h.Set("Content-Type", "application/jsonl")
		h.Set("Content-Disposition", `attachment; filename="parley-calls.jsonl"`)
		h.Set("Cache-Control", "no-store")
	}}
	err := fr.fleet.ExportCalls(r.Context(), who, callFilter(in.CallQuery), out)
	if err != nil && out.begun {
		panic(http.ErrAbortHandler) // cutting it is the only honest way to say so
	}
	return err
}

func (fr fleetRoutes) callStatus(ctx context.Context, who identity.Actor, in *rest.CallID) (rest.CallStatus, error) {
	return fr.fleet.CallStatus(ctx, who, in.ID)
}

func (fr fleetRoutes) cancelCall(ctx context.Context, who identity.Actor, in *rest.CallID) (rest.CallStatus, error) {
	return fr.fleet.CancelCall(ctx, who, in.ID)
}

func (fr fleetRoutes) screenshots(ctx context.Context, who identity.Actor, in *rest.ByID) (rest.Screenshots, error) {
	list, err := fr.fleet.Screenshots(ctx, who, in.ID)
	if err == nil && len(list) == 0 {
		err = &fault.Error{Code: fault.NotFound, Message: "there is no screenshot of this machine yet"}
	}
	return rest.Screenshots{Screenshots: list}, err
}

func (fr fleetRoutes) takeScreenshot(ctx context.Context, who identity.Actor, in *rest.ByID) (rest.Screenshot, error) {
	return fr.fleet.TakeScreenshot(ctx, who, fleetcall.Request{Machine: in.ID})
}

// pictureNumber reads N.png; latest.png is 0.
func pictureNumber(file string) (int64, error) {
	name, ok := strings.CutSuffix(file, ".png")
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
	n, err := pictureNumber(r.PathValue("file"))
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

func (fr fleetRoutes) removeScreenshot(ctx context.Context, who identity.Actor, in *rest.PictureName) (rest.Done, error) {
	n, err := pictureNumber(in.File)
	if err != nil {
		return rest.Done{}, err
	}
	return rest.Done{OK: true}, fr.fleet.RemoveScreenshot(ctx, who, in.ID, n)
}
