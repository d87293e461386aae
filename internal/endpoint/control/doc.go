// Package control is the switch of the person at the machine: remote control
// on, off, or off including everything that could show private things.
//
//	sw := control.NewSwitch(folder, log)
//	err := sw.Allows(tool.Class)             // asked before every call
//
//	srv, err := control.Listen(sw)           // for people on this machine
//	reply, err := control.Ask(ctx, folder, control.Request{Do: control.Off})
//
// What it guarantees:
//   - It is local. No frame, tool, script or update changes it; the program
//     that asks is known by the operating system, not by what it says.
//   - Everybody on the machine may switch off. On is for whoever switched off,
//     and for administrators.
//   - The choice is a file that belongs to the endpoint and survives restarts.
//     No file means on; a file that cannot be read means off.
package control
