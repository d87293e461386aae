package kenny

import "time"

// Version is the protocol spoken here; it travels in register.protocol.
const Version = "0.8"

// Sizes in bytes, counted on the message as it came.
const (
	// MaxUnauthenticated bounds what a hub reads from a stranger, so that a
	// flood of sockets costs little before anybody has proved anything.
	MaxUnauthenticated = 16 << 10
	// MaxMeta leaves room for facts about a machine and none for a payload.
	MaxMeta = 8 << 10
	// MaxRequest fits the longest allowed script, escaped, with room to spare.
	MaxRequest = 256 << 10
	// MaxPolicy fits 200 rules of the longest allowed pattern.
	MaxPolicy = 256 << 10
	// MaxTelemetry keeps the history of thousands of machines affordable.
	MaxTelemetry = 256 << 10
	// MaxLog is generous: a hub cuts the stored text far below it.
	MaxLog = 256 << 10
	// MaxResponse fits a screenshot; it is the largest message anyone buffers.
	MaxResponse = 8 << 20
	// MaxDiscard is how much of an oversized message is read past before the
	// connection itself counts as hostile.
	MaxDiscard = 64 << 20
	// MaxLogMessage and MaxLogFields are where a hub cuts what it stores.
	MaxLogMessage = 8 << 10
	// MaxLogFields is the stored size of log.fields.
	MaxLogFields = 16 << 10
	// MaxScript bounds a script in bytes, so that judging it stays quick.
	MaxScript = 128 << 10
	// MaxEnrolBody bounds the body of an enrolment request.
	MaxEnrolBody = 4 << 10
)

// Counts and lengths, in characters where text is meant.
const (
	// MaxHostname is the longest DNS name.
	MaxHostname = 255
	// MaxVersionText bounds a machine's version text.
	MaxVersionText = 64
	// MaxProtocolText bounds register.protocol.
	MaxProtocolText = 16
	// MaxRequestID admits ids of other hubs; ours are UUIDs.
	MaxRequestID = 128
	// MaxToolName is the length model vendors allow for a tool's name.
	MaxToolName = 128
	// MaxRules bounds an operator's list; each rule costs every call a match.
	MaxRules = 200
	// MaxSections bounds one snapshot.
	MaxSections = 128
	// MaxText bounds every textual argument but a script.
	MaxText = 4096
	// NonceSize is what both sides contribute to the transcript.
	NonceSize = 32
)

// Times both sides agree on.
const (
	// HandshakeWait is how long each side waits for the other's next step.
	HandshakeWait = 10 * time.Second
	// PingEvery is the heartbeat.
	PingEvery = 30 * time.Second
	// SilenceLimit is three missed heartbeats: the other side is gone.
	SilenceLimit = 90 * time.Second
	// WriteWait bounds one write; a peer that reads nothing is cut.
	WriteWait = 10 * time.Second
	// AnswerGrace is added to a call's time-out on the hub, so that the
	// machine's own, better informed time-out arrives first.
	AnswerGrace = 5 * time.Second
	// CleanCloseWait bounds the goodbye of an endpoint that stops.
	CleanCloseWait = 2 * time.Second
	// TelemetryEvery is the default distance of two pushed snapshots.
	TelemetryEvery = 900 * time.Second
)

// Bounds of what is under way for one machine.
const (
	// MaxInFlight is how many calls a hub has open on one machine.
	MaxInFlight = 32
	// QueueFrames bounds the outbound queue on either side.
	QueueFrames = 64
)
