package system

import (
	"os"
	"path/filepath"
	"runtime/pprof"
)

// ProfileEnv tells a child where to leave its CPU profile.
const ProfileEnv = "PARLEY_BENCH_PROFILE"

// Profile is a CPU profile of this process, if one is wanted: of a child in its
// role, or of a row with whatever it does in here.
type Profile struct {
	Dir  string
	Name string
	file *os.File
}

// Begin starts it, once.
func (p *Profile) Begin() error {
	if p.Dir == "" || p.file != nil {
		return nil
	}
	f, err := os.CreateTemp(filepath.Clean(p.Dir), p.Name+"-*.pprof")
	if err != nil {
		return err
	}
	p.file = f
	return pprof.StartCPUProfile(f)
}

// End writes it out.
func (p *Profile) End() {
	if p.file != nil {
		pprof.StopCPUProfile()
		_ = p.file.Close()
	}
}
