// Package sandbox runs the programs that agents use, shell commands, terminals
// and MCP servers, in a box: they reach the folders they were given and the
// system's own programs, and nothing of the hub.
//
//	box := sandbox.New(sandbox.Options{Support: sandbox.Probe(), Environ: os.Environ(), Data: data, Workspace: workspace})
//	run, err := box.Prepare(sandbox.Program{Path: "/bin/sh", Args: []string{"-c", "make"}, Dir: workspace, Folders: []string{workspace}})
//	defer run.Close()             // its temporary folder goes
//	run.Cmd.Stdout = &out
//	err = run.Cmd.Start()
//	…
//	run.Stop()                    // asks everything it started to end
//	run.Kill()                    // ends it
//
//	hub ── starts itself again as the launcher ── restricts itself ── becomes the program
//
// On Linux the kernel keeps the box shut: Landlock, no_new_privs, no
// capabilities, a seccomp filter, and, where the system allows, namespaces ([Isolation] says which).
// The launcher is in every program that imports this package.
//
// What it guarantees inside a box:
//
//   - Readable and executable: the system's folders, what of /etc everybody may read,
//     toolchains on the PATH, and what the settings and the program name. Writable: the given
//     folders and a private temporary one (TMPDIR), which goes with the run.
//     No way of writing a path, and no link, reaches anything else.
//   - Nothing of the hub: not its data folder (but for the workspace inside it), keys,
//     tokens, sockets, environment or memory; nor those of another box.
//   - No network but the program's [Exit].
//   - Variables of the environment come from a short list, from the settings and from the
//     program's own configuration. HOME is the first of the folders.
//   - No set-user-ID program gains anything, no device and no namespace can be made, no core is dumped.
//   - A box that cannot be made as asked runs nothing.
//
// With namespaces ([Full]) besides:
//
//   - Other files and processes are not there; what is only readable cannot be changed in any way.
//   - Whatever the program started ends with it.
//   - Where the hub is root, programs are another user's.
//
// What it does not without them:
//
//   - Landlock has no rule for looking at a file's size and times, nor for changing
//     modes and times: a program can do so wherever its user may. Other processes'
//     command lines can be seen.
//   - Kernels before 6.12 let it signal other processes of the same user; before 6.2
//     it can also cut files short that this user may write.
//
// Where there is no box ([Sandbox.Boxed] is false) programs still run through Prepare, with the
// same environment and folders, but with the hub's own rights: whoever uses it asks a
// person before every command.
package sandbox
