package fleet

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/base64"
	"errors"
	"image/png"
	"time"

	"github.com/go-json-experiment/json"

	"parley.internal/internal/audit"
	"parley.internal/internal/fit"
	"parley.internal/internal/fleet/call"
	"parley.internal/internal/fleet/fault"
	"parley.internal/internal/identity"
	"parley.internal/internal/store"
	"parley.internal/protocol/rest"
)

// Screenshot is one picture of a machine's screen.
type Screenshot = rest.Screenshot

// screensKept is how many pictures of one machine are kept.
const screensKept = 10

// TakeScreenshot takes a picture of a machine's screen and keeps it for a while.
func (f *Fleet) TakeScreenshot(ctx context.Context, who identity.Actor, req call.Request) (Screenshot, error) {
	req.Tool = toolScreen
	id := req.Machine
	done, err := f.Call(ctx, who, req)
	if err != nil {
		return Screenshot{}, err
	}
	var r struct {
		Image string `json:"image_b64"`
	}
	if json.Unmarshal(done.Result, &r) != nil {
		return Screenshot{}, &fault.Error{Code: fault.Internal, Message: "the machine's answer has no picture", CallID: done.CallID}
	}
	picture, err := base64.StdEncoding.DecodeString(r.Image)
	if err != nil {
		return Screenshot{}, &fault.Error{Code: fault.Internal, Message: "the machine's picture cannot be read", CallID: done.CallID}
	}
	// What is served as a picture must be one, whatever the machine says it is.
	conf, err := png.DecodeConfig(bytes.NewReader(picture))
	if err != nil {
		return Screenshot{}, &fault.Error{Code: fault.Internal, Message: "the machine's picture is no PNG", CallID: done.CallID}
	}
	s := Screenshot{At: time.Now().UTC(), By: who.String(), Width: conf.Width, Height: conf.Height, Size: len(picture), CallID: done.CallID}
	err = f.d.DB.Write(ctx, func(tx *store.Tx) error {
		n, err := bump(tx, "screen:"+id)
		if err != nil {
			return err
		}
		s.N = n
		_, err = tx.Exec(`INSERT INTO fleet_screens (machine, n, at, by_whom, width, height, call_id, png) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
			id, n, store.Micros(s.At), fit.Storable(s.By), s.Width, s.Height, s.CallID, picture)
		if err != nil {
			return err
		}
		_, err = tx.Exec(`DELETE FROM fleet_screens WHERE machine = ? AND n <= ?`, id, n-screensKept)
		return err
	})
	return s, err
}

// Screenshots lists the pictures of a machine, newest first.
func (f *Fleet) Screenshots(ctx context.Context, who identity.Actor, id string) ([]Screenshot, error) {
	if _, refusal := f.seen(who, identity.FleetSensitive, id); refusal != nil {
		return nil, refusal
	}
	var list []Screenshot
	err := f.d.DB.Read(ctx, func(tx *store.Tx) error {
		list = []Screenshot{}
		return tx.Each(func(row *sql.Rows) error {
			var s Screenshot
			var at int64
			err := row.Scan(&s.N, &at, &s.By, &s.Width, &s.Height, &s.CallID, &s.Size)
			s.At = store.Time(at)
			list = append(list, s)
			return err
		}, `SELECT n, at, by_whom, width, height, call_id, length(png) FROM fleet_screens WHERE machine = ? ORDER BY n DESC`, id)
	})
	return list, err
}

// ScreenshotPNG gives a picture; 0 is the newest.
func (f *Fleet) ScreenshotPNG(ctx context.Context, who identity.Actor, id string, n int64) ([]byte, error) {
	if _, refusal := f.seen(who, identity.FleetSensitive, id); refusal != nil {
		return nil, refusal
	}
	var picture []byte
	err := f.d.DB.Read(ctx, func(tx *store.Tx) error {
		return tx.QueryRow(`SELECT png FROM fleet_screens WHERE machine = ? AND (n = ? OR ? = 0) ORDER BY n DESC LIMIT 1`, id, n, n).Scan(&picture)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fault.Errorf(fault.NotFound, "there is no such screenshot of %q", id)
	}
	return picture, err
}

// RemoveScreenshot deletes a picture.
func (f *Fleet) RemoveScreenshot(ctx context.Context, who identity.Actor, id string, n int64) error {
	if _, refusal := f.seen(who, identity.FleetSensitive, id); refusal != nil {
		return refusal
	}
	var removed int64
	err := f.d.DB.Write(ctx, func(tx *store.Tx) (err error) {
		removed, err = tx.Exec(`DELETE FROM fleet_screens WHERE machine = ? AND n = ?`, id, n)
		if err != nil || removed == 0 {
			return err
		}
		return f.d.Audit.AppendTx(tx, audit.Entry{Actor: who.String(), Action: audit.FleetScreenshotRemoved, Target: id})
	})
	if err == nil && removed == 0 {
		return fault.Errorf(fault.NotFound, "there is no such screenshot of %q", id)
	}
	return err
}
