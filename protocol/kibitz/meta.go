package kibitz

// Members of meta that mean something here.
const (
	metaRole   = "role"
	metaEngine = "~kbz"
)

// Kind is what the announcer says it is, or shows by the proof it brings. The
// hub fixes it at admission.
func (a *Announce) Kind() Kind {
	if a.AgentAssertion != "" || a.AgentToken != "" || len(a.AgentChain) > 0 || a.AgentCredit != "" {
		return Agent
	}
	if o, err := readObject(a.Meta); err == nil && o.is(metaRole, string(Agent)) {
		return Agent
	}
	return Human
}

// PublicMeta is the meta others see: without what only engines need, and with
// a role that agrees with the kind.
func PublicMeta(meta Raw, kind Kind) (Raw, error) {
	o := object{}
	if len(meta) > 0 {
		var err error
		if o, err = readObject(meta); err != nil {
			return nil, err
		}
	}
	delete(o, metaEngine)
	switch {
	case kind == Agent:
		o[metaRole] = Raw(`"agent"`)
	case o.is(metaRole, string(Agent)):
		delete(o, metaRole)
	}
	if len(o) == 0 {
		return nil, nil
	}
	return marshal(map[string]Raw(o))
}
