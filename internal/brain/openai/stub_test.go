package openai

import (
	"context"
	"net/http"
	"testing"

	"go.uber.org/goleak"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/brain/modelhttp/modeltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const key = "sk-very-secret"

const oneToken = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"one\"}}]}\n\n"

// stub is a provider together with the server it speaks to.
type stub struct {
	*Provider
	*modeltest.Stub
}

func serve(t *testing.T, o Options, h http.HandlerFunc) stub {
	t.Helper()
	s := modeltest.Serve(t, h)
	o.BaseURL = s.URL + o.BaseURL
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return stub{p, s}
}

func (s stub) read(req model.Request) modeltest.Result {
	return modeltest.Read(context.Background(), s.Provider, req)
}

func hello() model.Request {
	return model.Request{Model: "gpt-x", Messages: []model.Message{{Role: model.User, Text: "hi"}}}
}
