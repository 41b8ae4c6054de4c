package eventmap

import (
	"fmt"
	"net"
)

// InterfaceNames remembers names of interfaces by their numbers, since events come faster than one can ask the kernel. It is
// ready with make. It is for one goroutine.
type InterfaceNames map[int]string

// Name returns an interface's name, or its number behind a # where it has none in this network namespace. A name stays what it was at
// the first call.
func (n InterfaceNames) Name(index int) string {
	if name, ok := n[index]; ok {
		return name
	}
	name := fmt.Sprintf("#%d", index)
	if found, err := net.InterfaceByIndex(index); err == nil {
		name = found.Name
	}
	n[index] = name
	return name
}
