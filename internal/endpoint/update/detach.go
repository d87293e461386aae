package update

import (
	"encoding/json"
	"os"
	"path/filepath"
)

const planFile = "plan.json"

// Detach copies the running program into the staging folder and starts the
// copy outside the service, with the plan: the service can be stopped then
// without ending who is to start it again.
func Detach(p Plan) error {
	helper := filepath.Join(p.Folder, "staging", "swap"+suffix())
	if err := CopyFile(p.Program, helper); err != nil {
		return err
	}
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	plan := filepath.Join(p.Folder, "staging", planFile)
	if err := os.WriteFile(plan, data, 0o600); err != nil {
		return err
	}
	return launch(helper, "endpoint", "swap", "--plan", plan)
}

// ReadPlan reads what Detach wrote.
func ReadPlan(path string) (Plan, error) {
	var p Plan
	data, err := os.ReadFile(path)
	if err != nil {
		return p, err
	}
	return p, json.Unmarshal(data, &p)
}
