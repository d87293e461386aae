package kibitz

import "strings"

// NormalizeRoom gives the id of the room a text names: lower case, every run
// of other characters than a-z and 0-9 one dash, no dash at the ends, then at
// most 40 characters. The cut comes last, so a final dash may survive it.
// Nothing left is room.bad-id.
func NormalizeRoom(text string) (string, error) {
	var b strings.Builder
	gap := false
	for _, r := range lower(text) {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') {
			gap = true
			continue
		}
		if gap && b.Len() > 0 {
			b.WriteByte('-')
		}
		gap = false
		b.WriteRune(r)
	}
	if b.Len() == 0 {
		return "", refuse(RoomBadID, "a room id needs a letter or a digit")
	}
	return cut(b.String(), MaxRoomID), nil
}
