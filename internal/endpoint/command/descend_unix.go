//go:build unix

package command

// descendants lists everything below root in a map from process to parent.
func descendants(parents map[int]int, root int) []int {
	children := map[int][]int{}
	for pid, parent := range parents {
		if pid != parent {
			children[parent] = append(children[parent], pid)
		}
	}
	var out []int
	for queue := children[root]; len(queue) > 0; queue = queue[1:] {
		out = append(out, queue[0])
		queue = append(queue, children[queue[0]]...)
	}
	return out
}
