package agentfirst

// Short names of the enum values, without the prefixes that protobuf wants.
const (
	EventTextDelta     = AgentEventKind_AGENT_EVENT_KIND_TEXT_DELTA
	EventThinkingDelta = AgentEventKind_AGENT_EVENT_KIND_THINKING_DELTA
	EventToolStart     = AgentEventKind_AGENT_EVENT_KIND_TOOL_START
	EventToolResult    = AgentEventKind_AGENT_EVENT_KIND_TOOL_RESULT
	EventToolsComplete = AgentEventKind_AGENT_EVENT_KIND_TOOLS_COMPLETE
	EventDone          = AgentEventKind_AGENT_EVENT_KIND_DONE
	EventUserMessage   = AgentEventKind_AGENT_EVENT_KIND_USER_MESSAGE
	EventQueued        = AgentEventKind_AGENT_EVENT_KIND_QUEUED
	EventAsk           = AgentEventKind_AGENT_EVENT_KIND_ASK
	EventAskResolved   = AgentEventKind_AGENT_EVENT_KIND_ASK_RESOLVED
	EventCompacted     = AgentEventKind_AGENT_EVENT_KIND_COMPACTED
	EventTitled        = AgentEventKind_AGENT_EVENT_KIND_TITLED
	EventUsage         = AgentEventKind_AGENT_EVENT_KIND_USAGE

	ResourceUnknown  = ResourceKind_RESOURCE_KIND_UNKNOWN
	ResourceProvider = ResourceKind_RESOURCE_KIND_PROVIDER
	ResourceMCP      = ResourceKind_RESOURCE_KIND_MCP
	ResourceSkill    = ResourceKind_RESOURCE_KIND_SKILL

	SourceUnknown  = SourceKind_SOURCE_KIND_UNKNOWN
	SourceLocal    = SourceKind_SOURCE_KIND_LOCAL
	SourcePackage  = SourceKind_SOURCE_KIND_PACKAGE
	SourceExternal = SourceKind_SOURCE_KIND_EXTERNAL

	MCPUnknown      = McpStatus_MCP_STATUS_UNKNOWN
	MCPConnected    = McpStatus_MCP_STATUS_CONNECTED
	MCPDisconnected = McpStatus_MCP_STATUS_DISCONNECTED
	MCPFailed       = McpStatus_MCP_STATUS_FAILED

	ProviderUnknown   = ProviderKind_PROVIDER_KIND_UNKNOWN
	ProviderOpenAI    = ProviderKind_PROVIDER_KIND_OPENAI
	ProviderAnthropic = ProviderKind_PROVIDER_KIND_ANTHROPIC
	ProviderGoogle    = ProviderKind_PROVIDER_KIND_GOOGLE
	ProviderBedrock   = ProviderKind_PROVIDER_KIND_BEDROCK
	ProviderOllama    = ProviderKind_PROVIDER_KIND_OLLAMA
	ProviderAzure     = ProviderKind_PROVIDER_KIND_AZURE
	ProviderLlamaCpp  = ProviderKind_PROVIDER_KIND_LLAMA_CPP

	StopUnset       = StopReason_STOP_REASON_UNSET
	StopDone        = StopReason_STOP_REASON_DONE
	StopSilent      = StopReason_STOP_REASON_SILENT
	StopIterations  = StopReason_STOP_REASON_ITERATIONS
	StopCancelled   = StopReason_STOP_REASON_CANCELLED
	StopKilled      = StopReason_STOP_REASON_KILLED
	StopModelError  = StopReason_STOP_REASON_MODEL_ERROR
	StopBudget      = StopReason_STOP_REASON_BUDGET
	StopTimeout     = StopReason_STOP_REASON_TIMEOUT
	StopInterrupted = StopReason_STOP_REASON_INTERRUPTED

	ModeQueue     = TurnMode_TURN_MODE_QUEUE
	ModeSteer     = TurnMode_TURN_MODE_STEER
	ModeInterrupt = TurnMode_TURN_MODE_INTERRUPT
)

// Kinds of a Segment.
const (
	SegmentText     uint32 = 1
	SegmentThinking uint32 = 2
)
