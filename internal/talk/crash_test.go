package talk_test

func runCrashChild() bool { return false }
