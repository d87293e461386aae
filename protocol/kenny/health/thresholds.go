package health

import "time"

// thresholds is every number a verdict depends on.
var thresholds = struct {
	diskCrit, diskWarn           float64 // fullest volume, percent: crit from, warn above
	scanAge                      time.Duration
	batteryCrit, batteryWarn     float64 // health, percent: below
	memoryCrit, memoryWarn       float64 // used, percent: above
	thermalsCrit, thermalsWarn   float64 // hottest sensor, °C: from
	supportWarn                  time.Duration
	stabilityCrit, stabilityWarn float64 // stability index: below
	crashesCrit, crashesWarn     float64 // crashes in the window: from
}{
	diskCrit: 95, diskWarn: 80,
	scanAge:     14 * 24 * time.Hour,
	batteryCrit: 50, batteryWarn: 70,
	memoryCrit: 95, memoryWarn: 85,
	thermalsCrit: 95, thermalsWarn: 85,
	supportWarn:   90 * 24 * time.Hour,
	stabilityCrit: 3, stabilityWarn: 6,
	crashesCrit: 50, crashesWarn: 15,
}
