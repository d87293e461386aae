// Package telemetry is what machines told about themselves, on disk: snapshots with
// their verdicts, series of numbers out of them, and the events around machines.
//
//	past, err := telemetry.NewStore(db)
//	packed, err := past.Pack(snapshot)
//	err = past.StoreTx(tx, "studio-3", verdict, packed, snapshot)
//	history, err := past.History(ctx, "studio-3", telemetry.HistoryQuery{Metric: "disk_percent"})
//
// Who may see what of it is the fleet's to know.
package telemetry
