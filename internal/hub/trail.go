package hub

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"parley.internal/internal/audit"
	"parley.internal/internal/hub/config"
	"parley.internal/internal/witness"
)

// checkpointsFile keeps the audit trail's checkpoints beside the database.
const checkpointsFile = "audit/checkpoints.jsonl"

// witnessFiles are the files checkpoints are kept in: beside the database, and
// wherever else the settings say.
func witnessFiles(conf config.Config) []witness.File {
	files := []witness.File{witness.File(Folder(conf.Data).Path(checkpointsFile))}
	for _, path := range conf.Audit.WitnessFile {
		files = append(files, witness.File(path))
	}
	return files
}

// kept is everything that was kept outside the database. A file that cannot be read is
// named: it proves nothing, and somebody may have seen to that.
func kept(conf config.Config) (all []audit.Kept, unreadable []error) {
	for _, file := range witnessFiles(conf) {
		k, err := file.Read()
		if err != nil {
			unreadable = append(unreadable, err)
			continue
		}
		all = append(all, k)
	}
	return all, unreadable
}

// find is what was kept in one place.
func find(all []audit.Kept, where string) audit.Kept {
	for _, k := range all {
		if k.Where == where {
			return k
		}
	}
	return audit.Kept{Where: where}
}

// newest is the last that was kept, or nothing.
func newest(k audit.Kept) (cp audit.Checkpoint) {
	if ends := k.Ends().Checkpoints; len(ends) > 0 {
		return ends[0]
	}
	return cp
}

// ends are the last checkpoints of each, which tell of a cut at once.
func ends(all []audit.Kept) []audit.Kept {
	out := make([]audit.Kept, len(all))
	for i, k := range all {
		out[i] = k.Ends()
	}
	return out
}

// openTrail starts the trail and its witnesses, and holds what was kept against the
// database. A cut does not stop the hub: it is told to the log, the trail and whoever
// asks how the hub is.
func (h *Hub) openTrail(ctx context.Context) error {
	all, unreadable := kept(h.conf)
	for _, err := range unreadable {
		h.logger.Error("kept checkpoints of the audit trail cannot be read", "error", err)
	}
	client := h.clientOf(h.conf.Audit.WitnessURL)
	h.keeper = witness.New(h.logger, h.witnesses(client, all)...)
	h.onClose(func() error {
		defer client.CloseIdleConnections()
		return h.keeper.Close()
	})
	beside := find(all, h.folder.Path(checkpointsFile))
	h.keeper.Remind(newest(beside))
	trail, err := audit.Open(ctx, h.db, audit.Options{Key: h.key, Mask: h.mask, Logger: h.logger, OnCheckpoint: h.keeper.Offer, Known: beside.Checkpoints})
	if err != nil {
		return err
	}
	h.trail, h.keptEnds = trail, ends(all)
	h.onClose(trail.Close)
	if err := h.noteRestore(ctx); err != nil {
		return err
	}
	cuts, err := trail.NoteCuts(ctx, h.keptEnds...)
	for _, cut := range cuts {
		h.logger.Error("the audit trail was cut; see 'parley audit verify'", "found", cut.String())
	}
	return err
}

// witnesses are where checkpoints go: the file beside the database gets every one.
func (h *Hub) witnesses(client *http.Client, all []audit.Kept) []witness.Target {
	var targets []witness.Target
	for i, file := range witnessFiles(h.conf) {
		targets = append(targets, witness.Target{Name: string(file), Put: file.Append, All: i == 0, Has: newest(find(all, string(file)))})
	}
	if address := h.conf.Audit.WitnessURL; address != "" {
		targets = append(targets, witness.Target{Name: hostOf(address), Put: func(ctx context.Context, cps []audit.Checkpoint) error {
			return postCheckpoints(ctx, client, h.conf.Audit, cps)
		}})
	}
	return targets
}

// hostOf names an address without what may be secret in it.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "the witness"
	}
	return u.Host
}

// postCheckpoints leaves checkpoints with another hub, or whatever listens at the
// address. The settings name it, so it may be inside; where it points on to may not.
func postCheckpoints(ctx context.Context, client *http.Client, conf config.Audit, cps []audit.Checkpoint) error {
	body, err := json.Marshal(map[string]any{"checkpoints": cps})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, conf.WitnessURL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if conf.WitnessToken != "" {
		req.Header.Set("Authorization", "Bearer "+conf.WitnessToken)
	}
	res, err := client.Do(req)
	if err != nil {
		if failed, ok := errors.AsType[*url.Error](err); ok {
			err = failed.Err // without the address, which may hold a secret
		}
		return err
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10))
	_ = res.Body.Close()
	if res.StatusCode/100 != 2 {
		return fmt.Errorf("it answered %s", res.Status)
	}
	return nil
}
