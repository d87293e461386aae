package mcpclient

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/brain/tool"
)

const (
	maxName        = 64
	maxDescription = 4 << 10
)

// ToolName is the name an agent knows a server's tool by: mcp__SERVER__TOOL,
// fitted to what providers accept. Where that loses something, a digest keeps
// different tools apart.
func ToolName(server, name string) string {
	cleanServer, cleanName := model.CleanID(server), model.CleanID(name)
	full := "mcp__" + cleanServer + "__" + cleanName
	ambiguous := strings.Contains(server, "__") || strings.HasSuffix(server, "_") || strings.HasPrefix(name, "_")
	if cleanServer == server && cleanName == name && len(full) <= maxName && !ambiguous {
		return full
	}
	sum := sha256.Sum256([]byte(server + "\x00" + name))
	mark := "_" + hex.EncodeToString(sum[:4])
	return full[:min(len(full), maxName-len(mark))] + mark
}

// tool wraps one tool of a server for one user.
func (s *server) tool(u User, t *mcp.Tool) *tool.Tool {
	class := tool.Mutating
	if s.Trusted && t.Annotations != nil && t.Annotations.ReadOnlyHint {
		class = tool.ReadOnly
	}
	return &tool.Tool{
		Name:        ToolName(s.Name, t.Name),
		Description: describe(t),
		Schema:      schema(t.InputSchema),
		Class:       class,
		Speaks:      reachesOthers(t),
		Run: func(ctx context.Context, call tool.Call) (tool.Result, error) {
			return s.call(ctx, u, t.Name, call.Arguments)
		},
	}
}

// reachesOthers reports whether a server says of a tool that it acts in an open world, as
// one that sends mail does. Whoever says nothing is believed to change its server alone.
func reachesOthers(t *mcp.Tool) bool {
	return t.Annotations != nil && t.Annotations.OpenWorldHint != nil && *t.Annotations.OpenWorldHint
}

func describe(t *mcp.Tool) string {
	text := strings.ToValidUTF8(t.Description, "\uFFFD")
	if len(text) > maxDescription {
		text = strings.ToValidUTF8(text[:maxDescription], "")
	}
	return text
}

// schema passes the server's schema on; what is no object accepts anything.
func schema(v any) json.RawMessage {
	if _, ok := v.(map[string]any); ok {
		if raw, err := json.Marshal(v); err == nil {
			return raw
		}
	}
	return json.RawMessage(`{"type":"object"}`)
}

// call runs a tool. Whatever goes wrong at the server is a result the model can
// read, and counts as the server's words.
func (s *server) call(ctx context.Context, u User, name string, args json.RawMessage) (tool.Result, error) {
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	var res *mcp.CallToolResult
	err := s.use(ctx, u, func(session *mcp.ClientSession) (err error) {
		res, err = session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: args})
		return err
	})
	out := tool.Result{Untrusted: true, Source: "mcp:" + s.Name}
	var answer *jsonrpc.Error
	switch {
	case err == nil:
		out.Text, out.IsError = s.scrub(text(res)), res.IsError
		return out, nil
	case ctx.Err() != nil:
		return tool.Result{}, ctx.Err()
	case errors.Is(err, ErrClosed), errors.Is(err, errRemoved):
		return tool.Result{}, tool.Errorf(tool.NotFound, "%w", err)
	case errors.As(err, &answer):
		out.Text = fmt.Sprintf("the MCP server %s refused the call: %s", s.Name, s.scrub(answer.Message))
	case errors.Is(err, errStopped):
		out.Text = fmt.Sprintf("the MCP server %s stopped during the call, which may or may not have had an effect; it is started again when next used", s.Name)
	default:
		out.Text = fmt.Sprintf("the MCP server %s cannot be used: %s", s.Name, s.scrub(err.Error()))
	}
	out.IsError = true
	return out, nil
}

// text is what a model can read of a result.
func text(res *mcp.CallToolResult) string {
	var parts []string
	for _, c := range res.Content {
		parts = append(parts, content(c))
	}
	if len(parts) == 0 && res.StructuredContent != nil {
		if raw, err := json.Marshal(res.StructuredContent); err == nil {
			parts = append(parts, string(raw))
		}
	}
	return strings.Join(parts, "\n")
}

func content(c mcp.Content) string {
	switch c := c.(type) {
	case *mcp.TextContent:
		return c.Text
	case *mcp.ImageContent:
		return fmt.Sprintf("[image %s, %d bytes]", c.MIMEType, len(c.Data))
	case *mcp.AudioContent:
		return fmt.Sprintf("[audio %s, %d bytes]", c.MIMEType, len(c.Data))
	case *mcp.ResourceLink:
		return fmt.Sprintf("[resource %s %s]", c.Name, c.URI)
	case *mcp.EmbeddedResource:
		if c.Resource == nil {
			return "[empty resource]"
		}
		if c.Resource.Text != "" {
			return c.Resource.Text
		}
		return fmt.Sprintf("[resource %s %s, %d bytes]", c.Resource.URI, c.Resource.MIMEType, len(c.Resource.Blob))
	default:
		return "[content of an unknown kind]"
	}
}
