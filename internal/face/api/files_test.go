package api_test

import (
	"net/http"
	"strings"
	"testing"

	"parley.internal/client/agentfirst"
	"parley.internal/client/hubapi"
	wire "parley.internal/protocol/agentfirst"
	"parley.internal/protocol/rest"
	"parley.internal/protocol/viber"
)

const picture = "\x89PNG\r\n\x1a\n<script>alert(1)</script>"

func TestAFileIsShownWithoutRunningAndOnlyToItsOwner(t *testing.T) {
	r := newRig(t)
	put := func(c *hubapi.Client, name, body string) (rest.File, error) {
		return hubapi.Call(t.Context(), c, rest.PutFile, rest.FileUpload{Name: name, Body: strings.NewReader(body)})
	}
	f := must(put(r.owner, "photo.png", picture))(t)
	status, head, body := r.get(t, r.owner.Token(), "/api/files/"+f.Digest)
	if status != http.StatusOK || body != picture {
		t.Fatalf("the owner gets %d %q; want the picture", status, body)
	}
	for name, want := range map[string]string{
		"Content-Type": "image/png", "Content-Disposition": "inline; filename=photo.png", "X-Content-Type-Options": "nosniff",
		"Content-Security-Policy": "default-src 'none'; sandbox", "Cross-Origin-Resource-Policy": "same-origin",
	} {
		if got := head.Get(name); got != want {
			t.Errorf("%s is %q; want %q, so that no browser runs what is in it", name, got, want)
		}
	}
	paper := must(put(r.owner, "a.html", "%PDF-1.4 <html>"))(t)
	if _, head, _ := r.get(t, r.owner.Token(), "/api/files/"+paper.Digest); !strings.HasPrefix(head.Get("Content-Disposition"), "attachment") || head.Get("Content-Type") != "application/pdf" {
		t.Errorf("a PDF comes as %v; want it saved, not opened in the page", head)
	}
	if status, _, _ := r.get(t, r.alice.Token(), "/api/files/"+f.Digest); status != http.StatusNotFound {
		t.Errorf("alice, who knows the digest, gets %d; want 404", status)
	}
	_, err := put(r.owner, "photo.png", "<svg onload=alert(1)>")
	refused(t, "an SVG named .png", "file_type", err)
	_, err = put(r.owner, "big.png", picture+strings.Repeat("x", 20<<20))
	if !hubapi.IsCode(err, "file_too_large") && !hubapi.IsCode(err, "too_large") {
		t.Errorf("a file above the limit: %v; want too_large", err)
	}
	token := must(hubapi.Call(t.Context(), r.owner, rest.CreateToken, tokenFor("carl", "status:read")))(t)
	_, err = put(hubapi.WithTransport(r.url, token.Token, r.client), "x", picture)
	refused(t, "a token that may say nothing to agents", "insufficient_scope", err)
}

func TestAFileIsSaidOverTheWireByItsDigest(t *testing.T) {
	r := newRig(t)
	f := must(hubapi.Call(t.Context(), r.owner, rest.PutFile, rest.FileUpload{Name: "photo.png", Body: strings.NewReader(picture)}))(t)
	dial := func(c *hubapi.Client) *agentfirst.Client {
		chat := must(agentfirst.Dial(t.Context(), "ws"+strings.TrimPrefix(r.url, "http")+"/talk/ws", agentfirst.Options{Token: c.Token()}))(t)
		t.Cleanup(func() { _ = chat.Close() })
		return chat
	}
	turn := &wire.Turn{Agent: "parley", Content: "What is this?", Files: []*wire.FileRef{{Digest: f.Digest}}}
	answer := must(dial(r.owner).Send(t.Context(), turn))(t)
	if !strings.Contains(answer.GetContent(), `got "photo.png" (image/png, 33 bytes)`) {
		t.Errorf("the model says %q; want that it got the picture", answer.GetContent())
	}
	if _, err := dial(r.alice).Send(t.Context(), turn); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("alice says the owner's picture: %v; want 404", err)
	}
	list := must(hubapi.Call(t.Context(), r.owner, rest.ListConversations, rest.ConversationQuery{}))(t)
	if len(list.Conversations) != 1 {
		t.Fatalf("%d conversations; want that a refused turn leaves nothing", len(list.Conversations))
	}
	said := must(hubapi.Call(t.Context(), r.owner, rest.ListMessages, rest.MessageQuery{ID: list.Conversations[0].ID}))(t)
	if len(said.Messages[0].Files) != 1 || said.Messages[0].Files[0].Digest != f.Digest {
		t.Errorf("the history over REST is %+v; want the picture named", said.Messages[0])
	}
}

// A question about a picture is answered on a phone: the picture is beside it, for whose it is.
func TestAQuestionShowsItsPersonsFilesAndNobodyElse(t *testing.T) {
	r := newRig(t)
	f := must(hubapi.Call(t.Context(), r.owner, rest.PutFile, rest.FileUpload{Name: "photo.png", Body: strings.NewReader(picture)}))(t)
	must(hubapi.Call(t.Context(), r.owner, rest.SubmitTask, viber.TaskSubmit{
		IdempotencyKey: "01900000-0000-7000-8000-000000000001", Goal: `/tool ask_user {"questions":[{"question":"Is this the one?","options":[{"label":"yes"}]}]}`,
		Artifacts: []viber.Artifact{{ID: "photo", Ref: viber.FileRef(f.Digest)}},
	}))(t)
	var asked rest.Approval
	for asked.ID == "" {
		list := must(hubapi.Call(t.Context(), r.owner, rest.ListApprovals, rest.ApprovalQuery{State: "pending"}))(t)
		if len(list.Approvals) > 0 {
			asked = list.Approvals[0]
		}
	}
	shown := must(hubapi.Call(t.Context(), r.owner, rest.ApprovalFiles, rest.ByID{ID: asked.ID}))(t)
	if len(shown.Files) != 1 || shown.Files[0].Digest != f.Digest || shown.Files[0].Type != "image/png" {
		t.Errorf("the question shows %+v; want the picture", shown.Files)
	}
	reader := must(hubapi.Call(t.Context(), r.owner, rest.CreateToken, tokenFor("carl", "approval:read", "talk")))(t)
	_, err := hubapi.Call(t.Context(), hubapi.WithTransport(r.url, reader.Token, r.client), rest.ApprovalFiles, rest.ByID{ID: asked.ID})
	refused(t, "files of somebody else's question", "not_found", err)
	narrow := must(hubapi.Call(t.Context(), r.owner, rest.CreateToken, rest.TokenRequest{Name: "n", Scopes: []string{"approval:read"}}))(t)
	few := must(hubapi.Call(t.Context(), hubapi.WithTransport(r.url, narrow.Token, r.client), rest.ApprovalFiles, rest.ByID{ID: asked.ID}))(t)
	if len(few.Files) != 0 {
		t.Errorf("a token of the owner's that may only read the inbox is shown %+v; want no file", few.Files)
	}
}
