package api

import (
	"encoding/json"
	"net/http"
	"path"
	"reflect"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/protocol/kibitz"
	"parley.internal/protocol/rest"
)

// paper is where routes are written down that the library does not serve.
type paper struct{}

// Handle implements huma.Adapter.
func (paper) Handle(*huma.Operation, func(huma.Context)) {}

// ServeHTTP implements huma.Adapter.
func (paper) ServeHTTP(http.ResponseWriter, *http.Request) {}

// describe writes an operation into the document as the library would if it served it.
func describe[In, Out any](a *API, rt route, op rest.Operation[In, Out]) {
	o := rt.operation()
	if op.Media != "" {
		status := strconv.Itoa(max(op.Status, http.StatusOK))
		o.Responses = map[string]*huma.Response{status: {Description: op.Summary, Content: map[string]*huma.MediaType{op.Media: {}}}}
		o.DefaultStatus = max(op.Status, http.StatusOK)
	}
	if !op.IsBody() {
		register[In](a.document, o, reflect.TypeFor[Out](), nil)
		return
	}
	schema := huma.SchemaFromField(a.document.OpenAPI().Components.Schemas, reflect.StructField{Name: "Body", Type: reflect.TypeFor[In]()}, o.OperationID+"Request")
	o.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": {Schema: schema}}}
	register[rest.None](a.document, o, reflect.TypeFor[Out](), nil)
}

// schemas names the types of the document. What is in package rest has its own name, what
// it takes from a protocol that protocol's in front.
func schemas() huma.Registry {
	out := huma.NewMapRegistry("#/components/schemas/", func(t reflect.Type, hint string) string {
		name := huma.DefaultSchemaNamer(t, hint)
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if of := path.Base(t.PkgPath()); t.Name() != "" && of != "rest" && strings.HasPrefix(t.PkgPath(), "parley.internal/protocol") {
			return strings.ToUpper(of[:1]) + of[1:] + name
		}
		return name
	})
	anything := reflect.TypeFor[json.RawMessage]()
	for _, raw := range []reflect.Type{reflect.TypeFor[jsontext.Value](), reflect.TypeFor[kibitz.Raw]()} {
		out.RegisterTypeAlias(raw, anything)
	}
	return out
}
