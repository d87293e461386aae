package openai

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// shared are the members that both requests have.
type shared struct {
	Model          string          `json:"model"`
	Stream         bool            `json:"stream"`
	User           string          `json:"user"`
	PromptCacheKey string          `json:"prompt_cache_key"`
	ToolChoice     json.RawMessage `json:"tool_choice"`
	Conversation   json.RawMessage `json:"conversation"`
	StreamOptions  *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

// request begins what both have in common.
func (s *shared) request() (*reading, error) {
	if s.Model == "" {
		return nil, invalid("model", "model is missing: name an agent of this hub")
	}
	r := &reading{Request: Request{Model: s.Model, Stream: s.Stream, IncludeUsage: s.StreamOptions != nil && s.StreamOptions.IncludeUsage}}
	named, err := conversation(s.Conversation)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{named, s.PromptCacheKey, s.User} {
		if r.Thread == "" {
			r.Thread = name
		}
	}
	return r, nil
}

// conversation is a name, or an object with an id.
func conversation(raw json.RawMessage) (string, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", nil
	}
	var name string
	if json.Unmarshal(raw, &name) == nil {
		return name, nil
	}
	var object struct {
		ID string `json:"id"`
	}
	if json.Unmarshal(raw, &object) != nil || object.ID == "" {
		return "", invalid("conversation", "conversation is a name, or an object with an id")
	}
	return object.ID, nil
}

// reading is a request that is being read.
type reading struct {
	Request
	files int
}

func (r *reading) brief(text string) {
	if text = strings.TrimSpace(text); text == "" {
		return
	}
	if r.Brief != "" {
		r.Brief += "\n\n"
	}
	r.Brief += text
}

func (r *reading) add(t Turn) error {
	if len(r.Turns) == MaxTurns {
		return invalid("messages", "more than %d messages", MaxTurns)
	}
	r.Turns = append(r.Turns, t)
	return nil
}

// choose reads tool_choice. Whether a model calls a tool is its own doing: a wish is passed on in words.
func (r *reading) choose(raw json.RawMessage) {
	var word string
	if json.Unmarshal(raw, &word) == nil {
		switch word {
		case "none":
			r.Tools = nil
		case "required":
			r.brief("Call at least one of the program's tools before you answer.")
		}
		return
	}
	var forced struct {
		Name     string `json:"name"`
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	if json.Unmarshal(raw, &forced) == nil && forced.Name+forced.Function.Name != "" {
		r.brief("Call the tool " + forced.Name + forced.Function.Name + ".")
	}
}

// format passes the wanted form of the answer on in words.
func (r *reading) format(kind string, schema json.RawMessage) {
	switch {
	case kind == "json_schema" && len(schema) > 0:
		r.brief("Answer with one JSON value and nothing else. It must fit this JSON schema: " + string(schema))
	case kind == "json_schema", kind == "json_object":
		r.brief("Answer with one JSON object and nothing else.")
	}
}

// part is one piece of a message's content, in the words of either request.
type part struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	Refusal  string          `json:"refusal"`
	ImageURL json.RawMessage `json:"image_url"`
	Audio    struct {
		Data string `json:"data"`
	} `json:"input_audio"`
	File     filePart `json:"file"`
	FileData string   `json:"file_data"`
	FileName string   `json:"filename"`
}

type filePart struct {
	Data string `json:"file_data"`
	Name string `json:"filename"`
}

// content reads a text, or a list of parts.
func (r *reading) content(param string, raw json.RawMessage) (text string, files []File, err error) {
	if len(raw) == 0 || string(raw) == "null" || json.Unmarshal(raw, &text) == nil {
		return text, nil, nil
	}
	var parts []part
	if json.Unmarshal(raw, &parts) != nil {
		return "", nil, invalid(param, "%s is a text or a list of parts", param)
	}
	var texts []string
	for _, p := range parts {
		f, said, err := r.part(param, p)
		if err != nil {
			return "", nil, err
		}
		if said != "" {
			texts = append(texts, said)
		}
		if f != nil {
			if r.files++; r.files > MaxFiles {
				return "", nil, invalid(param, "more than %d files", MaxFiles)
			}
			files = append(files, *f)
		}
	}
	return strings.Join(texts, "\n"), files, nil
}

func (r *reading) part(param string, p part) (*File, string, error) {
	switch p.Type {
	case "text", "input_text", "output_text":
		return nil, p.Text, nil
	case "refusal":
		return nil, p.Refusal, nil
	case "image_url", "input_image":
		return dataURL(param, "picture", address(p.ImageURL))
	case "input_audio":
		return plainData(param, "voice", p.Audio.Data)
	case "file":
		return dataURL(param, p.File.Name, p.File.Data)
	case "input_file":
		return dataURL(param, p.FileName, p.FileData)
	default:
		return nil, "", invalid(param, "a part of the type %q is not known here", p.Type)
	}
}

// address is a picture's, which is a text or in an object.
func address(raw json.RawMessage) (url string) {
	if json.Unmarshal(raw, &url) == nil {
		return url
	}
	var object struct {
		URL string `json:"url"`
	}
	_ = json.Unmarshal(raw, &object) // without an address it is refused below
	return object.URL
}

// dataURL reads "data:TYPE;base64,DATA". What it is will be seen by its bytes. Other addresses are
// refused: the hub fetches nothing because a client names it.
func dataURL(param, name, url string) (*File, string, error) {
	head, data, ok := strings.Cut(url, ",")
	if !ok || !strings.HasPrefix(head, "data:") || !strings.HasSuffix(head, ";base64") {
		return nil, "", invalid(param, "files come as data: URLs in base64; this hub fetches no addresses and knows no file ids")
	}
	return plainData(param, name, data)
}

func plainData(param, name, data string) (*File, string, error) {
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil || len(raw) == 0 {
		return nil, "", invalid(param, "the data of a file is not base64")
	}
	return &File{Name: name, Data: raw}, "", nil
}

// decode reads a body.
func decode(body []byte, into any) error {
	if !utf8.Valid(body) {
		return invalid("", "the body is not UTF-8")
	}
	if err := json.Unmarshal(body, into); err != nil {
		return invalid("", "the body cannot be read: %v", err)
	}
	return nil
}
