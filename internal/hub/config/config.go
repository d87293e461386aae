package config

import (
	"os"
	"path/filepath"
	"time"

	"parley.internal/internal/bus"
)

// Config is what a hub is started with.
type Config struct {
	Data           string        `koanf:"-"`
	File           string        `koanf:"-"` // the settings', if it is not the data folder's
	Listen         string        `koanf:"listen"`
	PublicURL      string        `koanf:"public_url"`
	DB             string        `koanf:"db"`
	NATS           string        `koanf:"nats"`
	NATSCreds      string        `koanf:"nats_credentials"`
	NATSCA         string        `koanf:"nats_ca"`
	NATSCert       string        `koanf:"nats_cert"`
	NATSKey        string        `koanf:"nats_key"`
	HubName        string        `koanf:"hub_name"`
	KeySecret      string        `koanf:"key_secret"`
	Talk           Talk          `koanf:"talk"`
	TLS            TLS           `koanf:"tls"`
	BehindProxy    []string      `koanf:"behind_proxy"`
	Hosts          []string      `koanf:"hosts"`
	Net            Net           `koanf:"net"`
	Limits         Limits        `koanf:"limits"`
	Origins        []string      `koanf:"origins"`
	Rooms          Rooms         `koanf:"rooms"`
	Auth           Auth          `koanf:"auth"`
	Audit          Audit         `koanf:"audit"`
	Backup         Backup        `koanf:"backup"`
	Place          Place         `koanf:"place"`
	Skills         Skills        `koanf:"skills"`
	Extensions     Extensions    `koanf:"extensions"`
	Policy         Policy        `koanf:"policy"`
	Box            Box           `koanf:"box"`
	Budget         Budget        `koanf:"budget"`
	Board          Board         `koanf:"board"`
	Files          Files         `koanf:"files"`
	Terminal       Terminal      `koanf:"terminal"`
	Fleet          Fleet         `koanf:"fleet"`
	Model          string        `koanf:"model"`
	Log            Log           `koanf:"log"`
	ShutdownNotice time.Duration `koanf:"shutdown_notice"`
	ShutdownGrace  time.Duration `koanf:"shutdown_grace"`
	// MCP lists tool servers agents may use.
	MCP []MCPServer `koanf:"mcp"`
	// Notify lists who is told when something needs a person.
	Notify []NotifyTarget `koanf:"notify"`
}

// Net is about connections to addresses that came from outside.
type Net struct {
	// AllowPrivate are networks they may lead to although those are not public.
	AllowPrivate []string `koanf:"allow_private"`
}

// Rooms is about rooms in other people's pages, and ways through NAT for their media.
type Rooms struct {
	// Origins are websites whose pages may show rooms, beside those listed on the page.
	Origins []string `koanf:"origins"`
	// ICE are STUN and TURN servers of the operator, ICESecret what the latter share with the hub.
	ICE       []string `koanf:"ice"`
	ICESecret string   `koanf:"ice_secret"`
	TURN      TURN     `koanf:"turn"`
}

// TURN is about the hub's own TURN server.
type TURN struct {
	Listen  string   `koanf:"listen"`
	Address string   `koanf:"address"`
	Ports   string   `koanf:"ports"`
	Peers   []string `koanf:"peers"`
}

// Limits are how slowly callers may send a request's body.
type Limits struct {
	BodyTime  time.Duration `koanf:"body_time"`
	BodyPause time.Duration `koanf:"body_pause"`
}

// Talk is about the conversations protocol.
type Talk struct {
	TCP     string `koanf:"tcp"`
	TCPOpen bool   `koanf:"tcp_open"`
}

// TLS is about the listener's certificate.
type TLS struct {
	Cert       string `koanf:"cert"`
	Key        string `koanf:"key"`
	ACMEDomain string `koanf:"acme_domain"`
	ACMEEmail  string `koanf:"acme_email"`
}

// On reports whether the hub itself does TLS.
func (t TLS) On() bool { return t.Cert != "" || t.ACMEDomain != "" }

// Auth is about proving who one is.
type Auth struct {
	Challenge string `koanf:"challenge"`
	// Mode none makes everybody on this machine the owner, on /ws.
	Mode string `koanf:"mode"`
}

// Audit is about keeping the trail's checkpoints outside the database.
type Audit struct {
	WitnessFile []string `koanf:"witness_file"`
	WitnessURL  string   `koanf:"witness_url"`
	// WitnessToken is sent to WitnessURL.
	WitnessToken string `koanf:"witness_token"`
}

// Backup is about backups that the hub makes by itself.
type Backup struct {
	Folder string        `koanf:"folder"`
	Every  time.Duration `koanf:"every"`
	Keep   int           `koanf:"keep"`
	Verify bool          `koanf:"verify"`
}

// Place is about the meeting place.
type Place struct {
	Auth         string        `koanf:"auth"`
	StaticProof  string        `koanf:"static_proof"`
	Name         string        `koanf:"name"`
	Description  string        `koanf:"description"`
	Anonymize    bool          `koanf:"anonymize"`
	Federation   bool          `koanf:"federation"`
	RegistryTTL  time.Duration `koanf:"registry_ttl"`
	TokenTTL     time.Duration `koanf:"token_ttl"`
	PostingTTL   time.Duration `koanf:"posting_ttl"`
	RelayTTL     time.Duration `koanf:"relay_ttl"`
	PostingLimit int           `koanf:"posting_limit"`
	DepositLimit int           `koanf:"deposit_limit"`
	QueueLimit   int           `koanf:"queue_limit"`
	Sync         string        `koanf:"sync"`
	FrontAgent   string        `koanf:"front_agent"`
	HashForm     string        `koanf:"hash_form"`
}

// Skills is about what other agents send.
type Skills struct {
	AllowFormats []string `koanf:"allow_formats"`
	L2Offers     bool     `koanf:"l2_offers"`
}

// Extensions is about what other agents propose.
type Extensions struct {
	AllowUnprefixed bool `koanf:"allow_unprefixed"`
}

// PlaceAuth is the policy: the one that was asked for, or by who can reach the hub.
func (c Config) PlaceAuth() string {
	switch {
	case c.Place.Auth != "":
		return c.Place.Auth
	case Loopback(c.Listen) && len(c.BehindProxy) == 0:
		return "tofu"
	}
	return "strict"
}

// Policy is what agents may do in tasks.
type Policy struct {
	MaxMode string   `koanf:"max_mode"`
	Deny    []string `koanf:"deny"`
	Allow   []string `koanf:"allow"`
	// Approvals say who must agree to what; the first rule that matches counts.
	Approvals []ApprovalRule `koanf:"approvals"`
}

// ApprovalRule is one rule in parley.yaml.
type ApprovalRule struct {
	Tools  []string `koanf:"tools"`
	Class  string   `koanf:"class"`
	Quorum int      `koanf:"quorum"`
	// People are ids of others who may answer too; Scope is one they need besides.
	People   []string `koanf:"people"`
	Scope    string   `koanf:"scope"`
	NotAsker bool     `koanf:"not_asker"`
}

// Box is about what programs of agents reach besides the workspace.
type Box struct {
	Read  []string `koanf:"read"`
	Write []string `koanf:"write"`
	Env   []string `koanf:"env"`
	Hosts []string `koanf:"hosts"`
	// User is who programs run as where the hub is root.
	User string `koanf:"user"`
	// Processes, OpenFiles and CPU (seconds) are numbers, Memory and FileSize MiB; 0 is no limit.
	Processes int `koanf:"processes"`
	Memory    int `koanf:"memory"`
	FileSize  int `koanf:"file_size"`
	OpenFiles int `koanf:"open_files"`
	CPU       int `koanf:"cpu"`
}

// Budget is about money.
type Budget struct {
	Unattended string `koanf:"unattended"`
}

// Files bounds pictures, PDFs and voice notes, in bytes.
type Files struct {
	MaxSize int64 `koanf:"max_size"`
	Quota   int64 `koanf:"quota"`
}

// Board is about the board protocol.
type Board struct {
	Limits BoardLimits `koanf:"limits"`
}

// BoardLimits bound boards and their tasks.
type BoardLimits struct {
	MaxRunningTasks         int `koanf:"max_running_tasks"`
	MaxQueuedMessages       int `koanf:"max_queued_messages"`
	SubmitsPerMinute        int `koanf:"submits_per_minute"`
	MaxFrame                int `koanf:"max_frame"`
	MaxFrameUnauthenticated int `koanf:"max_frame_unauthenticated"`
	MaxConnections          int `koanf:"max_connections"`
	MaxUnauthenticated      int `koanf:"max_unauthenticated"`
	MessagesPerSecond       int `koanf:"messages_per_second"`
	MaxTerminals            int `koanf:"max_terminals"`
	InputPerSecond          int `koanf:"input_per_second"`
	AuthPerMinute           int `koanf:"auth_per_minute"`
	PairingPerMinute        int `koanf:"pairing_per_minute"`
}

// Fleet is about machines.
type Fleet struct {
	KeyFile      string        `koanf:"key_file"`
	LegacyTokens bool          `koanf:"legacy_tokens"`
	Mirror       bool          `koanf:"mirror"`
	Approval     FleetApproval `koanf:"approval"`
	MCP          FleetMCP      `koanf:"mcp"`
	ReleaseKeys  []string      `koanf:"release_keys"`
	Ping         time.Duration `koanf:"ping"`
	Silence      time.Duration `koanf:"silence"`
	Overdue      time.Duration `koanf:"overdue"`
	Limits       FleetLimits   `koanf:"limits"`
}

// FleetApproval says who approves what is done on machines.
type FleetApproval struct {
	MCP string `koanf:"mcp"`
}

// FleetMCP is about models that use machines.
type FleetMCP struct {
	RequireAgentID string `koanf:"require_agent_id"`
}

// FleetLimits bound machines nobody knows yet.
type FleetLimits struct {
	Unauthenticated           int `koanf:"unauthenticated"`
	UnauthenticatedPerAddress int `koanf:"unauthenticated_per_address"`
	FailuresPerMinute         int `koanf:"failures_per_minute"`
}

// Terminal is about terminals.
type Terminal struct {
	Record  string        `koanf:"record"`
	Keep    bool          `koanf:"keep"`
	KeepFor time.Duration `koanf:"keep_for"`
	Mask    []string      `koanf:"mask"`
}

// Log is about the hub's own log.
type Log struct {
	Level  string `koanf:"level"`
	Format string `koanf:"format"`
}

// MCPServer is one tool server in parley.yaml.
type MCPServer struct {
	Name    string            `koanf:"name"`
	Command string            `koanf:"command"`
	Args    []string          `koanf:"args"`
	Env     map[string]string `koanf:"env"`
	// Hosts are those that the command may connect to.
	Hosts   []string `koanf:"hosts"`
	URL     string   `koanf:"url"`
	Token   string   `koanf:"token"`
	Trusted bool     `koanf:"trusted"`
}

// NotifyTarget is one webhook or ntfy topic in parley.yaml.
type NotifyTarget struct {
	// Person whose notices it gets; empty gets everybody's.
	Person  string `koanf:"person"`
	Webhook string `koanf:"webhook"`
	Ntfy    string `koanf:"ntfy"`
	// Secret signs webhooks; Token is sent to ntfy.
	Secret string `koanf:"secret"`
	Token  string `koanf:"token"`
}

// FileName is the settings file in the data folder.
const FileName = "parley.yaml"

// DefaultData is the data folder when nobody names one: PARLEY_DATA, else
// .parley in the user's home.
func DefaultData() string {
	if dir := os.Getenv("PARLEY_DATA"); dir != "" {
		return dir
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ".parley"
	}
	return filepath.Join(home, ".parley")
}

// Bus is where the NATS servers are and how to be let in.
func (c Config) Bus() bus.Servers {
	return bus.Servers{URLs: c.NATS, Credentials: c.NATSCreds, CA: c.NATSCA, Cert: c.NATSCert, Key: c.NATSKey}
}

// Database is what the store is opened with.
func (c Config) Database() string {
	if c.DB != "" {
		return c.DB
	}
	return filepath.Join(c.Data, "parley.db")
}
