package brain

// ProviderKind is what sort of server a provider is; the numbers are the wire's.
type ProviderKind uint8

// The kinds.
const (
	KindOffline   ProviderKind = 0
	KindOpenAI    ProviderKind = 1
	KindAnthropic ProviderKind = 2
	KindGoogle    ProviderKind = 3
	KindBedrock   ProviderKind = 4
	KindOllama    ProviderKind = 5
	KindAzure     ProviderKind = 6
	KindLlamaCPP  ProviderKind = 7
)

var kindNames = [...]string{"offline", "openai", "anthropic", "google", "bedrock", "ollama", "azure", "llama_cpp"}

// String is the name used in providers.yaml.
func (k ProviderKind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}

// ParseKind reads a kind's name.
func ParseKind(s string) (ProviderKind, bool) {
	for i, name := range kindNames {
		if name == s {
			return ProviderKind(i), true
		}
	}
	return 0, false
}
