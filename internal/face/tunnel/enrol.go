package tunnel

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"parley.internal/internal/face/front"
	"parley.internal/internal/fleet"
	"parley.internal/internal/limit"
	"parley.internal/protocol/kenny"
)

// enrolBody is what a machine posts. Keys are matched exactly, so the struct is
// filled by hand.
type enrolBody struct{ publicKey, token string }

var errBadBody = errors.New("the body must be {\"public_key\": \"…\"}")

func readEnrol(r io.Reader) (enrolBody, error) {
	data, err := io.ReadAll(io.LimitReader(r, kenny.MaxEnrolBody+1))
	if errors.Is(err, front.ErrSlow) {
		return enrolBody{}, err
	}
	if err != nil || len(data) > kenny.MaxEnrolBody {
		return enrolBody{}, errBadBody
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(data, &members) != nil {
		return enrolBody{}, errBadBody
	}
	var body enrolBody
	for key, to := range map[string]*string{"public_key": &body.publicKey, "token": &body.token} {
		if raw, ok := members[key]; ok && json.Unmarshal(raw, to) != nil {
			return enrolBody{}, errBadBody
		}
	}
	return body, nil
}

// serveEnrol binds a machine's key with a one-time token. Operator tokens mean
// nothing here.
func (f *Face) serveEnrol(w http.ResponseWriter, r *http.Request) {
	address := front.Address(r)
	if wait := f.enrols.Wait(limit.Network(address), time.Now()); wait > 0 {
		f.tooMany(w, r, http.StatusTooManyRequests, wait)
		return
	}
	body, err := readEnrol(r.Body)
	if err != nil {
		f.d.Front.Fail(w, r, enrolProblem(err))
		return
	}
	token := body.token
	if secret, ok := front.Bearer(r); ok {
		token = secret
	}
	id := r.PathValue("id")
	err = f.d.Fleet.Enrol(r.Context(), fleet.EnrolRequest{Machine: id, Token: token, PublicKey: body.publicKey, Address: address})
	if errors.Is(err, fleet.ErrEnrolToken) {
		f.enrols.Add(limit.Network(address), time.Now())
	}
	if err != nil {
		f.d.Front.Fail(w, r, enrolProblem(err))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(map[string]any{"ok": true, "agent_id": id}) // a caller that is gone asks again
}

// enrolProblem is the one table of enrolment's refusals.
func enrolProblem(err error) error {
	for _, row := range []struct {
		is     error
		status int
		code   string
	}{
		{fleet.ErrEnrolToken, http.StatusUnauthorized, "unauthorized"},
		{fleet.ErrEnrolConflict, http.StatusConflict, "conflict"},
		{errBadBody, http.StatusBadRequest, "invalid"},
		{fleet.ErrEnrolInvalid, http.StatusBadRequest, "invalid"},
	} {
		if errors.Is(err, row.is) {
			return front.NewProblem(row.status, row.code, err.Error(), err)
		}
	}
	return err
}
