package command

import (
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// tree is a job object: whatever a member starts is a member too, and closing
// the last handle ends them all.
type tree struct {
	job  windows.Handle
	kept bool
}

// MarkName is the variable that marks processes of a call elsewhere; here the
// job object does.
const MarkName = "ENDPOINT_CALL"

var ntResumeProcess = windows.NewLazySystemDLL("ntdll.dll").NewProc("NtResumeProcess")

func newTree() *tree { return &tree{} }

func (t *tree) env() []string { return nil }

// prepare has the process created suspended, so that it is in the job before
// it can start anything.
func (t *tree) prepare(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.HideWindow = true
	cmd.SysProcAttr.CreationFlags |= windows.CREATE_SUSPENDED | windows.CREATE_NO_WINDOW
}

func (t *tree) started(cmd *exec.Cmd) error {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return fmt.Errorf("job object: %w", err)
	}
	t.job = job
	register(job)
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info))); err != nil {
		return fmt.Errorf("job object limits: %w", err)
	}
	const access = windows.PROCESS_SET_QUOTA | windows.PROCESS_TERMINATE | windows.PROCESS_SUSPEND_RESUME
	process, err := windows.OpenProcess(access, false, uint32(cmd.Process.Pid))
	if err != nil {
		return fmt.Errorf("open process: %w", err)
	}
	defer func() { _ = windows.CloseHandle(process) }()
	if err := windows.AssignProcessToJobObject(job, process); err != nil {
		return fmt.Errorf("assign to job object: %w", err)
	}
	if status, _, _ := ntResumeProcess.Call(uintptr(process)); status != 0 {
		return fmt.Errorf("resume process: status %#x", status)
	}
	return nil
}

// kill ends every member of the job.
func (t *tree) kill(*exec.Cmd) {
	if t.job != 0 {
		_ = windows.TerminateJobObject(t.job, 1) // an empty job has nothing to end
	}
}

// left names what of the job still runs.
func (t *tree) left(root int) []Process {
	var out []Process
	for _, pid := range membersOf(t.job) {
		if pid != root {
			out = append(out, Process{Name: "process", PID: pid})
		}
	}
	return out
}

// keep lets it go on as long as the endpoint runs: the job stays, so that it is
// still known for a script's, and cannot use the switch.
func (t *tree) keep() {
	t.kept = true
	jobs.mu.Lock()
	defer jobs.mu.Unlock()
	jobs.all[t.job] = true
}

// membersOf lists the processes of a job, as far as they fit.
func membersOf(job windows.Handle) []int {
	var list struct {
		assigned, listed uint32
		pids             [256]uintptr
	}
	if job == 0 {
		return nil
	}
	err := windows.QueryInformationJobObject(job, windows.JobObjectBasicProcessIdList, uintptr(unsafe.Pointer(&list)), uint32(unsafe.Sizeof(list)), nil)
	if err != nil && !errors.Is(err, windows.ERROR_MORE_DATA) {
		return nil
	}
	var out []int
	for _, pid := range list.pids[:min(int(list.listed), len(list.pids))] {
		out = append(out, int(pid))
	}
	return out
}

func (t *tree) close() {
	if t.job != 0 && !t.kept {
		forget(t.job)
		_ = windows.CloseHandle(t.job)
	}
}

// jobs are the calls under way in this process; true are those that ended and left
// something running.
var jobs = struct {
	mu  sync.Mutex
	all map[windows.Handle]bool
}{all: map[windows.Handle]bool{}}

// register remembers a job, and forgets those that were kept and are empty.
func register(job windows.Handle) {
	jobs.mu.Lock()
	defer jobs.mu.Unlock()
	for old, kept := range jobs.all {
		if kept && len(membersOf(old)) == 0 {
			delete(jobs.all, old)
			_ = windows.CloseHandle(old)
		}
	}
	jobs.all[job] = false
}

func forget(job windows.Handle) {
	jobs.mu.Lock()
	defer jobs.mu.Unlock()
	delete(jobs.all, job)
}

var isProcessInJob = windows.NewLazySystemDLL("kernel32.dll").NewProc("IsProcessInJob")

// Belongs reports whether a process is part of a call of this endpoint. One
// that cannot be looked at is taken for one while calls are under way.
func Belongs(pid int) bool {
	jobs.mu.Lock()
	defer jobs.mu.Unlock()
	if len(jobs.all) == 0 {
		return false
	}
	process, err := openToAsk(uint32(pid))
	if err != nil {
		return true
	}
	defer func() { _ = windows.CloseHandle(process) }()
	for job := range jobs.all {
		var member int32
		if ok, _, _ := isProcessInJob.Call(uintptr(process), uintptr(job), uintptr(unsafe.Pointer(&member))); ok == 0 || member != 0 {
			return true
		}
	}
	return false
}

// openToAsk wants the fuller right first: Wine tells nothing with less.
func openToAsk(pid uint32) (windows.Handle, error) {
	if h, err := windows.OpenProcess(windows.PROCESS_QUERY_INFORMATION, false, pid); err == nil {
		return h, nil
	}
	return windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, pid)
}
