package rest

import (
	"io"
	"net/url"
	"reflect"
	"strings"
)

// Operation is one thing that can be asked of a hub.
type Operation[In, Out any] struct {
	Method, Path string
	Summary      string
	// Status is that of success; 0 for 200, or 204 for an answer of None.
	Status int
	// Media is the answer's type where that is not JSON: Out is then None, and the
	// answer is read as it comes.
	Media string
}

// None is a request or an answer without anything in it.
type None = struct{}

// Get is an operation that changes nothing.
func Get[In, Out any](path, summary string) Operation[In, Out] {
	return Operation[In, Out]{Method: "GET", Path: path, Summary: summary}
}

// Post is an operation that makes or does something.
func Post[In, Out any](path, summary string) Operation[In, Out] {
	return Operation[In, Out]{Method: "POST", Path: path, Summary: summary}
}

// Put is an operation that replaces something.
func Put[In, Out any](path, summary string) Operation[In, Out] {
	return Operation[In, Out]{Method: "PUT", Path: path, Summary: summary}
}

// Patch is an operation that changes what the request names.
func Patch[In, Out any](path, summary string) Operation[In, Out] {
	return Operation[In, Out]{Method: "PATCH", Path: path, Summary: summary}
}

// Delete is an operation that removes something.
func Delete[In, Out any](path, summary string) Operation[In, Out] {
	return Operation[In, Out]{Method: "DELETE", Path: path, Summary: summary}
}

// Created answers 201.
func (o Operation[In, Out]) Created() Operation[In, Out] {
	o.Status = 201
	return o
}

// As answers with something else than JSON.
func (o Operation[In, Out]) As(media string) Operation[In, Out] {
	o.Media = media
	return o
}

// Request is an operation with a request, ready to be sent.
type Request struct {
	Method, Path string
	Query        url.Values
	Header       map[string]string
	// Body is what to write as JSON; nil for none.
	Body any
	// Stream is a body that goes as it is, instead.
	Stream io.Reader
}

// Request fills in a request. What is empty in its query is left out.
func (o Operation[In, Out]) Request(in In) Request {
	r := Request{Method: o.Method, Path: o.Path, Query: url.Values{}, Header: map[string]string{}}
	v := reflect.ValueOf(in)
	if o.IsBody() {
		r.Body = in
		return r
	}
	for _, f := range fieldsOf(v.Type()) {
		value := v.FieldByIndex(f.index)
		text, empty := f.write(value)
		switch f.where {
		case "path":
			r.Path = strings.NewReplacer("{"+f.name+"}", url.PathEscape(text), "{"+f.name+"...}", escapeEach(text)).Replace(r.Path)
		case "query":
			if !empty {
				r.Query.Set(f.name, text)
			}
		case "header":
			if !empty {
				r.Header[f.name] = text
			}
		default:
			r.setBody(value)
		}
	}
	return r
}

func (r *Request) setBody(v reflect.Value) {
	body := v.Interface()
	if stream, ok := body.(io.Reader); ok {
		r.Stream = stream
	} else if v.Kind() != reflect.Pointer || !v.IsNil() {
		r.Body = body
	}
}

// escapeEach escapes the parts of a path, and keeps what is between them.
func escapeEach(path string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return strings.Join(parts, "/")
}

// IsBody reports whether a request is a body as a whole.
func (o Operation[In, Out]) IsBody() bool {
	t := reflect.TypeFor[In]()
	return o.Method != "GET" && t != reflect.TypeFor[None]() && (t.Kind() != reflect.Struct || len(fieldsOf(t)) == 0)
}
