package policy

import (
	"strings"
	"testing"

	"parley.internal/protocol/kenny"
)

func BenchmarkBuiltin(b *testing.B) {
	for b.Loop() {
		Builtin()
	}
}

func BenchmarkShortScript(b *testing.B) {
	benchScript(b, "Get-Process | Sort-Object CPU -Descending | Select-Object -First 10")
}

func BenchmarkLongestScript(b *testing.B) {
	line := "Get-ChildItem C:\\Users\\ann\\Documents -Recurse | Where-Object Length -gt 1MB | Select-Object FullName\n"
	benchScript(b, strings.Repeat(line, kenny.MaxScript/len(line)))
}

func benchScript(b *testing.B, text string) {
	s := Builtin()
	args := object(b, map[string]any{"script": text})
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if r, hit := s.CheckCall(kenny.Windows, "powershell_exec", args); hit {
			b.Fatal(r.ID)
		}
	}
}

// A search judges every file it meets.
func BenchmarkPath(b *testing.B) {
	s := Builtin()
	for b.Loop() {
		if r, hit := s.CheckPath(kenny.Windows, `C:\Users\ann\Documents\2026\reports\quarter one.xlsx`); hit {
			b.Fatal(r.ID)
		}
	}
}
