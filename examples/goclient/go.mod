module goclient

go 1.26.0
