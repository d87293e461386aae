package config

import "strings"

// kind is how a setting's text is read.
type kind uint8

const (
	text kind = iota
	list
	truth
	duration
	number
)

// setting is one row: everything there is to know about one knob.
type setting struct {
	key  string
	kind kind
	// flag is the command-line name, empty if there is none.
	flag string
	// fallback is the default in the form people write it.
	fallback string
	help     string
}

// env is the setting's environment variable.
func (s setting) env() string {
	return "PARLEY_" + strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(s.key))
}

// settings is the whole table. The data folder itself is not in it: it is where
// the file is found.
var settings = []setting{
	{"listen", text, "listen", "127.0.0.1:7788", "address of the one listener"},
	{"public_url", text, "public-url", "", "the hub's address as others reach it, such as https://hub.example.org"},
	{"db", text, "db", "", "database: empty for SQLite in the data folder, or postgres://…"},
	{"nats", text, "nats", "", "NATS servers joining several hubs, such as tls://a,tls://b; with USER:PASSWORD@ if they ask for one"},
	{"nats_credentials", text, "nats-credentials", "", "credentials file (.creds) for the NATS servers"},
	{"nats_ca", text, "nats-ca", "", "certificate authority of the NATS servers (PEM); with it they must use TLS"},
	{"nats_cert", text, "nats-cert", "", "certificate this hub shows to the NATS servers (PEM)"},
	{"nats_key", text, "nats-key", "", "its private key file (PEM)"},
	{"hub_name", text, "name", "", "this hub's name in a cluster (default: the host's name)"},
	{"key_secret", text, "", "", "secret that seals the hub's key in PostgreSQL, the same for all hubs of a cluster (default: the key lies there in clear)"},
	{"talk.tcp", text, "talk-tcp", "", "also serve the conversations protocol on this loopback address"},
	{"talk.tcp_open", truth, "", "false", "admit old clients without a token on talk.tcp"},
	{"tls.cert", text, "tls-cert", "", "certificate file (PEM)"},
	{"tls.key", text, "tls-key", "", "private key file (PEM)"},
	{"tls.acme_domain", text, "acme-domain", "", "get a certificate for this domain by ACME"},
	{"tls.acme_email", text, "acme-email", "", "contact address for ACME"},
	{"behind_proxy", list, "behind-proxy", "", "addresses of reverse proxies that do TLS; only they are served"},
	{"hosts", list, "", "", "further Host names this hub answers to"},
	{"origins", list, "", "", "further page origins that may talk to this hub"},
	{"rooms.origins", list, "", "", "websites, such as https://app.example.org, whose pages may show rooms of this hub; more are listed on the page"},
	{"rooms.ice", list, "", "", "STUN and TURN servers of yours for media in rooms, such as stun:turn.example.org:3478 or turns:turn.example.org:5349?transport=tcp"},
	{"rooms.ice_secret", text, "", "", "secret shared with those TURN servers (static-auth-secret of coturn); participants get credentials for an hour"},
	{"rooms.turn.listen", text, "", "", "UDP address of a TURN server in the hub itself, such as 0.0.0.0:3478 (default: none)"},
	{"rooms.turn.address", text, "", "", "IP address that others reach it under (default: the one of rooms.turn.listen)"},
	{"rooms.turn.ports", text, "", "49160-49359", "UDP ports it relays through"},
	{"rooms.turn.peers", list, "", "", "networks inside, such as 10.0.0.0/8, that it may relay to (default: the public internet only)"},
	{"net.allow_private", list, "", "", "networks inside, such as 10.0.0.0/8, that visits, peers, key servers of rooms, webhooks and web_fetch may reach (default: the public internet only)"},
	{"limits.body_time", duration, "", "30s", "what sending a request may take; longer ones need 8 KiB a second"},
	{"limits.body_pause", duration, "", "10s", "how long not a byte of a request may come"},
	{"files.max_size", number, "", "20971520", "bytes of one picture, PDF or voice note"},
	{"files.quota", number, "", "1073741824", "bytes of such files that one person may keep"},
	{"auth.challenge", text, "", "auto", "signed challenge on /ws: auto, always or never"},
	{"auth.mode", text, "", "token", "credential on /ws: token, or none: every program on this machine is the owner (loopback listeners only)"},
	{"audit.witness_file", list, "", "", "files that also get every checkpoint of the audit trail; best on another disk"},
	{"audit.witness_url", text, "", "", "where checkpoints of the audit trail are also sent, such as https://other.example.org/api/audit/witness"},
	{"audit.witness_token", text, "", "", "token for audit.witness_url; on a hub, one with the scope audit:witness"},
	{"backup.folder", text, "", "", "folder for backups that the hub makes by itself (default: it makes none); best on another disk"},
	{"backup.every", duration, "", "24h", "how often it makes one; of several hubs one does"},
	{"backup.keep", number, "", "7", "how many it keeps there"},
	{"backup.verify", truth, "", "true", "try each as 'parley backup verify' does before it counts"},
	{"place.auth", text, "place-auth", "", "how agents prove themselves at the place: open, tofu or strict (default: tofu on loopback, else strict)"},
	{"place.static_proof", text, "", "", "signatures that whoever saw them could use again, of agents that never answered a challenge: accept (unproven) or refuse (default: refuse at strict, else accept)"},
	{"place.name", text, "", "Parley Meeting Place", "what the place calls itself"},
	{"place.description", text, "", "A meeting place for agents", "what the place says about itself"},
	{"place.anonymize", truth, "", "false", "hide ids in the place's audit from everybody but the operator"},
	{"place.federation", truth, "", "false", "let this place be peered with others"},
	{"place.registry_ttl", duration, "", "5m", "how long a silent agent stays registered"},
	{"place.token_ttl", duration, "", "1h", "how long an unused session token lives"},
	{"place.posting_ttl", duration, "", "24h", "how long a posting stays that names no time"},
	{"place.relay_ttl", duration, "", "1h", "how long a message waits for its recipient"},
	{"place.posting_limit", number, "", "10", "postings of one agent"},
	{"place.deposit_limit", number, "", "20", "deposited skills of one agent"},
	{"place.sync", text, "", "full", "what an answer about a message promises: full (it outlives a loss of power) or os (it outlives the death of the hub, and nothing waits for the disk)"},
	{"place.front_agent", text, "", "parley", "the agent that speaks at the direct endpoints when a caller names nobody"},
	{"place.hash_form", text, "", "bare", "hashes of skills that are sent: bare or prefixed (sha256:…); both are understood"},
	{"place.queue_limit", number, "", "100", "messages that may wait for one agent"},
	{"skills.allow_formats", list, "", "", "further formats of skills, from agents you trust only and as inert text"},
	{"skills.l2_offers", truth, "", "true", "let agents that never proved a key send skills; they wait, twenty at most, without a question in the inbox"},
	{"extensions.allow_unprefixed", truth, "", "false", "take extensions whose name has no namespace"},
	{"policy.max_mode", text, "", "always_execute", "least strict mode of a task: always_ask, agent_decides or always_execute"},
	{"policy.deny", list, "", "", "further regular expressions of commands that never run"},
	{"policy.allow", list, "", "", "commands that need no approval (default: some that only look)"},
	{"box.read", list, "", "", "further folders that programs of agents may read"},
	{"box.write", list, "", "", "further folders that agents may use like their workspace"},
	{"box.env", list, "", "", "further variables of the hub's environment that programs of agents get, by name"},
	{"box.hosts", list, "", "", "hosts, such as proxy.golang.org or *.npmjs.org, that programs of agents may always connect to (default: each is asked about)"},
	{"box.user", text, "", "", "who programs of agents run as where the hub is root: a name or a number (default: nobody), or root"},
	{"box.processes", number, "", "1024", "processes and threads of one program of an agent, and all it starts; 0 for no limit"},
	{"box.memory", number, "", "8192", "MiB of memory of each such process; 0 for no limit"},
	{"box.file_size", number, "", "16384", "MiB of each file it writes; 0 for no limit"},
	{"box.open_files", number, "", "16384", "files that each such process may have open; 0 for no limit"},
	{"box.cpu", number, "", "0", "seconds of processor time of each such process; 0 for no limit but the time a call has"},
	{"budget.unattended", text, "", "ask", "a task whose budget is spent while nobody is connected: ask or fail"},
	{"board.limits.max_running_tasks", number, "", "32", "running tasks of one person"},
	{"board.limits.max_queued_messages", number, "", "20", "messages that may wait in one task"},
	{"board.limits.submits_per_minute", number, "", "120", "tasks one person may submit in a minute"},
	{"board.limits.max_frame", number, "", "4194304", "bytes of one message on /ws"},
	{"board.limits.max_frame_unauthenticated", number, "", "65536", "bytes of one message before authentication"},
	{"board.limits.max_connections", number, "", "64", "connections of one address to /ws"},
	{"board.limits.max_unauthenticated", number, "", "10", "of them, without authentication"},
	{"board.limits.messages_per_second", number, "", "60", "messages of one connection, twice as many at once"},
	{"board.limits.max_terminals", number, "", "16", "running terminals of one person"},
	{"board.limits.input_per_second", number, "", "262144", "bytes one connection may type into terminals"},
	{"board.limits.auth_per_minute", number, "", "60", "authentications of one address"},
	{"board.limits.pairing_per_minute", number, "", "10", "pairings of one address"},
	{"terminal.record", text, "", "agents", "terminals that are recorded: none, agents or all"},
	{"terminal.keep", truth, "", "true", "terminals live on while the hub is away (not on Windows)"},
	{"terminal.keep_for", duration, "", "24h", "how long a terminal waits for the hub before it ends"},
	{"terminal.mask", list, "", "", "further values that no result, record or terminal shows (8 characters or more), or what such words begin with, as in acme-*"},
	{"fleet.key_file", text, "", "", "file with the key machines pin, a base64 Ed25519 seed (default: the hub's own key)"},
	{"fleet.legacy_tokens", truth, "", "false", "admit endpoints without keys by bearer token"},
	{"fleet.mirror", truth, "", "true", "refuse what the guard on a machine would refuse before it is sent"},
	{"fleet.approval.mcp", text, "", "elicit_or_inbox", "who approves changes that MCP clients want: elicit_or_inbox, inbox or off"},
	{"fleet.mcp.require_agent_id", text, "", "never", "calls of MCP clients that must name their machine: never, mutating or always"},
	{"fleet.release_keys", list, "", "", "the only keys whose endpoint programs this hub hands out (default: any that signed)"},
	{"fleet.ping", duration, "", "30s", "silence of a machine after which it is asked for a sign of life"},
	{"fleet.silence", duration, "", "90s", "silence after which it counts as gone"},
	{"fleet.overdue", duration, "", "15m", "absence without goodbye after which people are told"},
	{"fleet.limits.unauthenticated", number, "", "2000", "sockets of machines that have not proved anything"},
	{"fleet.limits.unauthenticated_per_address", number, "", "100", "of them, of one address"},
	{"fleet.limits.failures_per_minute", number, "", "300", "failed handshakes of one address"},
	{"model", text, "model", "", "the hub's model: offline, anthropic:NAME or openai:NAME"},
	{"log.level", text, "log-level", "info", "debug, info, warn or error"},
	{"log.format", text, "log-format", "auto", "auto, text or json"},
	{"shutdown_notice", duration, "shutdown-notice", "0s", "how long a stopping hub goes on as before while /readyz says no, so that balancers notice"},
	{"shutdown_grace", duration, "shutdown-grace", "20s", "how long a stopping hub waits for what runs"},
}

// Keys lists the settings for documentation: key, variable, flag, default, help.
func Keys() [][5]string {
	rows := make([][5]string, len(settings))
	for i, s := range settings {
		flag := s.flag
		if flag != "" {
			flag = "--" + flag
		}
		rows[i] = [5]string{s.key, s.env(), flag, s.fallback, s.help}
	}
	return rows
}
