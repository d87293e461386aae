package cron

import (
	"errors"
	"strings"
	"testing"
	"time"
)

const layout = "2006-01-02 15:04:05"

func at(t testing.TB, s string) time.Time {
	t.Helper()
	v, err := time.Parse(layout, s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestNext(t *testing.T) {
	tests := []struct{ schedule, after, want string }{
		// 2026-01-01 is a Thursday.
		{"* * * * *", "2026-01-01 00:00:00", "2026-01-01 00:01:00"},
		{"* * * * *", "2026-01-01 00:00:59", "2026-01-01 00:01:00"},
		{"0 9 * * *", "2026-01-01 09:00:00", "2026-01-02 09:00:00"},
		{"@hourly", "2026-01-01 09:00:00", "2026-01-01 10:00:00"},
		{"@daily", "2026-01-01 09:00:00", "2026-01-02 00:00:00"},
		{"@Midnight", "2026-01-01 09:00:00", "2026-01-02 00:00:00"},
		{"@weekly", "2026-01-01 09:00:00", "2026-01-04 00:00:00"},
		{"@monthly", "2026-01-01 09:00:00", "2026-02-01 00:00:00"},
		{"@yearly", "2026-01-01 09:00:00", "2027-01-01 00:00:00"},
		{"0 9 * * *", "2026-01-01 08:59:59", "2026-01-01 09:00:00"},
		{"*/15 * * * *", "2026-01-01 10:46:00", "2026-01-01 11:00:00"},
		{"5/20 * * * *", "2026-01-01 10:26:00", "2026-01-01 10:45:00"},
		{"10-30/10 8 * * *", "2026-01-01 08:20:00", "2026-01-01 08:30:00"},
		{"0 0 1 * *", "2026-01-15 00:00:00", "2026-02-01 00:00:00"},
		{"0 0 31 * *", "2026-01-31 00:00:00", "2026-03-31 00:00:00"},
		{"0 0 29 2 *", "2026-01-01 00:00:00", "2028-02-29 00:00:00"},
		{"0 0 29 FEB *", "2096-03-01 00:00:00", ""},
		{"0 0 30 2 *", "2026-01-01 00:00:00", ""},
		{"0 0 31 4,6,9,11 *", "2026-01-01 00:00:00", ""},
		{"0 0 * * 0", "2026-01-01 00:00:00", "2026-01-04 00:00:00"},
		{"0 0 * * 7", "2026-01-01 00:00:00", "2026-01-04 00:00:00"},
		{"0 0 * * sun", "2026-01-01 00:00:00", "2026-01-04 00:00:00"},
		{"0 0 * * SAT-SUN", "2026-01-03 00:00:00", "2026-01-04 00:00:00"},
		{"0 0 * * 5-7", "2026-01-03 00:00:00", "2026-01-04 00:00:00"},
		{"0 0 * * Mon-Fri", "2026-01-02 00:00:00", "2026-01-05 00:00:00"},
		{"0 0 * * mon,wed", "2026-01-05 00:00:00", "2026-01-07 00:00:00"},
		{"0 12 ? JAN,MAR ?", "2026-01-31 12:00:00", "2026-03-01 12:00:00"},
		// day and weekday restricted: either is enough
		{"0 0 13 * FRI", "2026-01-01 00:00:00", "2026-01-02 00:00:00"},
		{"0 0 13 * FRI", "2026-01-09 00:00:00", "2026-01-13 00:00:00"},
		// a stepped star still leaves the choice to the other field
		{"0 0 */2 * FRI", "2026-01-01 00:00:00", "2026-01-09 00:00:00"},
		// six fields: seconds first
		{"30 * * * * *", "2026-01-01 00:00:30", "2026-01-01 00:01:30"},
		{"*/20 59 23 31 12 *", "2026-12-31 23:59:40", "2027-12-31 23:59:00"},
		{"0,59 0 0 1 1 *", "2026-01-01 00:00:00", "2026-01-01 00:00:59"},
		// seven: with a year
		{"0 0 0 1 1 * 2030", "2026-01-01 00:00:00", "2030-01-01 00:00:00"},
		{"0 0 0 1 1 * 2028-2040/4", "2028-01-01 00:00:00", "2032-01-01 00:00:00"},
		{"0 0 0 1 1 * 2020", "2026-01-01 00:00:00", ""},
		{"59 59 23 31 12 * 2099", "2026-01-01 00:00:00", "2099-12-31 23:59:59"},
		{"59 59 23 31 12 * 2099", "2099-12-31 23:59:59", ""},
		{"* * * * * * *", "1900-05-05 05:05:05", "1970-01-01 00:00:00"},
		{"* * * * * * *", "3000-01-01 00:00:00", ""},
	}
	for _, tt := range tests {
		t.Run(tt.schedule+" after "+tt.after, func(t *testing.T) {
			s, err := Parse(tt.schedule)
			if err != nil {
				t.Fatal(err)
			}
			got, ok := s.Next(at(t, tt.after))
			if want := tt.want; ok != (want != "") || (ok && got.Format(layout) != want) {
				t.Errorf("Next = %v, %v; want %q", got, ok, want)
			}
		})
	}
}

func TestNextIsInUTCWhateverTheCallerSays(t *testing.T) {
	s, err := Parse("0 9 * * *")
	if err != nil {
		t.Fatal(err)
	}
	zone := time.FixedZone("five east", 5*3600)
	got, _ := s.Next(time.Date(2026, 1, 1, 13, 0, 0, 500, zone)) // 08:00 UTC
	if want := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC); !got.Equal(want) || got.Location() != time.UTC {
		t.Errorf("Next = %v, want %v", got, want)
	}
}

func TestNextIsStrictlyAfterEvenWithinASecond(t *testing.T) {
	s, _ := Parse("* * * * * *")
	after := time.Date(2026, 1, 1, 0, 0, 0, 999_999_999, time.UTC)
	if got, _ := s.Next(after); !got.Equal(time.Date(2026, 1, 1, 0, 0, 1, 0, time.UTC)) {
		t.Errorf("Next = %v", got)
	}
}

func TestZeroScheduleNeverFires(t *testing.T) {
	if got, ok := (Schedule{}).Next(at(t, "2026-01-01 00:00:00")); ok {
		t.Errorf("Next = %v", got)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, s := range []string{
		"", " ", "*", "* * * *", "* * * * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * 32 * *",
		"* * * 0 *", "* * * 13 *", "* * * * 8", "*/0 * * * *", "*/ * * * *", "*/60 * * * *", "a * * * *",
		"1- * * * *", "-1 * * * *", "5-1 * * * *", "1,,2 * * * *", ", * * * *", "+1 * * * *", "1.5 * * * *",
		"? * * * *", "* * * FEB-JAN *", "* * * * MONDAY", "0 0 0 1 1 * 1969", "0 0 0 1 1 * 2100",
		"99999999999999999999 * * * *", "1/2/3 * * * *", "@often", "@daily 5", strings.Repeat("0,", 600) + "0 * * * *",
	} {
		if _, err := Parse(s); !errors.Is(err, ErrSyntax) {
			t.Errorf("Parse(%.40q) = %v, want ErrSyntax", s, err)
		}
	}
}

func TestQuietHours(t *testing.T) {
	tests := []struct {
		start, end, clock string
		want              bool
	}{
		{"22:00", "07:00", "21:59", false},
		{"22:00", "07:00", "22:00", true},
		{"22:00", "07:00", "23:59", true},
		{"22:00", "07:00", "00:00", true},
		{"22:00", "07:00", "06:59", true},
		{"22:00", "07:00", "07:00", false},
		{"12:00", "13:30", "12:00", true},
		{"12:00", "13:30", "13:29", true},
		{"12:00", "13:30", "13:30", false},
		{"12:00", "13:30", "00:00", false},
		{"00:00", "23:59", "23:59", false},
		{"", "", "03:00", false},
	}
	for _, tt := range tests {
		q, err := ParseQuiet(tt.start, tt.end)
		if err != nil {
			t.Fatal(err)
		}
		if got := q.Contains(at(t, "2026-01-01 "+tt.clock+":30")); got != tt.want {
			t.Errorf("%s-%s contains %s = %v", tt.start, tt.end, tt.clock, got)
		}
	}
}

func TestQuietHoursGoByTheClockOfTheLocation(t *testing.T) {
	q, err := ParseQuiet("22:00", "07:00")
	if err != nil {
		t.Fatal(err)
	}
	utc := at(t, "2026-01-01 20:00:00")
	if q.Contains(utc) || !q.Contains(utc.In(time.FixedZone("", 3*3600))) {
		t.Error("20:00 UTC is quiet three hours further east, and only there")
	}
}

func TestQuietHoursRefused(t *testing.T) {
	for _, p := range [][2]string{
		{"22:00", ""},
		{"", "07:00"},
		{"24:00", "07:00"},
		{"22:60", "07:00"},
		{"9:00", "10:00"},
		{"09.00", "10:00"},
		{"-1:00", "10:00"},
		{"08:00", "08:00"},
	} {
		if _, err := ParseQuiet(p[0], p[1]); !errors.Is(err, ErrSyntax) {
			t.Errorf("ParseQuiet(%q, %q) = %v", p[0], p[1], err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"* * * * *", "*/5 1-3,7 ? JAN SUN-SAT", "0 0 0 29 2 * 2099", "1/2 * * * 5-7", "5-1 * * * *"} {
		f.Add(s, int64(1767225600))
	}
	f.Fuzz(func(t *testing.T, text string, unix int64) {
		s, err := Parse(text)
		if err != nil {
			return
		}
		after := time.Unix(unix%4102444800, 0)
		next, ok := s.Next(after)
		if ok && !next.After(after) {
			t.Fatalf("%q: %v is not after %v", text, next, after)
		}
		again, err := Parse(s.String())
		if err != nil {
			t.Fatalf("%q: own text %q refused: %v", text, s, err)
		}
		if n, o := again.Next(after); o != ok || !n.Equal(next) {
			t.Fatalf("%q and %q differ", text, s)
		}
	})
}

func FuzzParseQuiet(f *testing.F) {
	f.Add("22:00", "07:00")
	f.Fuzz(func(t *testing.T, a, b string) {
		q, err := ParseQuiet(a, b)
		if err == nil && a != "" && q.Contains(at(t, "2026-01-01 "+b+":00")) {
			t.Fatal("the end is not part of the window")
		}
	})
}
