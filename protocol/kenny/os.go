package kenny

// OS is the operating system a machine reports in meta.os.
type OS string

// The operating systems of the protocol.
const (
	Windows OS = "windows"
	Linux   OS = "linux"
	MacOS   OS = "macos"
)

// Valid reports whether the protocol knows the system.
func (o OS) Valid() bool { return o == Windows || o == Linux || o == MacOS }

// OSFromGo translates a GOOS value; ok is false where no endpoint exists.
func OSFromGo(goos string) (o OS, ok bool) {
	switch goos {
	case "windows":
		return Windows, true
	case "linux":
		return Linux, true
	case "darwin":
		return MacOS, true
	}
	return "", false
}
