package update

import "os/exec"

// label names the job that swaps; launchd forgets it when it is removed.
const label = "dev.parley.endpoint.update"

// launch hands the program to launchd, outside the service's job.
func launch(program string, args ...string) error {
	_ = exec.Command("/bin/launchctl", "remove", label).Run() // of an earlier update
	return exec.Command("/bin/launchctl", append([]string{"submit", "-l", label, "--", program}, args...)...).Run()
}

// Forget tells launchd that the job is done; it would start it again otherwise.
func Forget() { _ = exec.Command("/bin/launchctl", "remove", label).Run() }
