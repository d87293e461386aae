package rest

import (
	"io"
	"time"
)

// Pictures, PDFs and voice notes: put once, used in conversations and tasks by their digest.
var (
	ListFiles  = Get[None, Files]("/api/files", "Your files, newest first, and how much room they take")
	PutFile    = Post[FileUpload, File]("/api/files", "Keep a picture, a PDF or a voice note; unused it is gone after a day; query: name")
	GetFile    = Get[FileDigest, None]("/api/files/{digest}", "The bytes of a file of yours").As("application/octet-stream")
	RemoveFile = Delete[FileDigest, None]("/api/files/{digest}", "Let go of a file that was put; what a conversation or a task holds stays with it")
)

// FileUpload is a file on its way; what it is, its bytes say.
type FileUpload struct {
	Name string    `query:"name" doc:"what it is called"`
	Body io.Reader `contentType:"application/octet-stream"`
}

// FileDigest names a file.
type FileDigest struct {
	Digest string `path:"digest"`
}

// File is a picture, a PDF or a voice note.
type File struct {
	Digest string    `json:"digest" doc:"SHA-256 of its bytes, in hex"`
	Name   string    `json:"name"`
	Type   string    `json:"type"`
	Size   int64     `json:"size"`
	At     time.Time `json:"at,omitzero"`
}

// Files is a list of them.
type Files struct {
	Files []File `json:"files"`
	Used  int64  `json:"used" doc:"bytes of all of them"`
	Quota int64  `json:"quota" doc:"bytes you may keep"`
	Limit int64  `json:"limit" doc:"bytes that one file may have"`
}
