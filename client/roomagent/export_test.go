package roomagent

// DialLyingMesh proves a key of the test's choice on its links.
var DialLyingMesh = dialMesh
