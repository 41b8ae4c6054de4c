package agent

const (
	// mostConns bounds a front where the process may open any number of files: a slow client costs up to 20 KiB.
	mostConns = 1 << 17
	// fewConns is enough for who watches and administers.
	fewConns = 128
)

// divide gives each front its part of the files that the process may open, so that clients of one do not keep those of another
// out. Fronts that retire are not counted: their connections are on the way out.
func divide(fronts []*front, files int) {
	var roles []role
	for _, f := range fronts {
		roles = append(roles, f.role)
	}
	most := rooms(roles, files)
	for i, f := range fronts {
		if s, can := f.server.(interface{ SetMaxConns(int) }); can {
			s.SetMaxConns(most[i])
		}
	}
}

// rooms returns how many connections each front may have. An eighth of the files is for all else: maps of the kernel, logs,
// checks of servers.
func rooms(roles []role, files int) []int {
	left, large := files-files/8, 0
	few := max(min(fewConns, files/32), 1)
	for _, r := range roles {
		if isForFew(r) {
			left -= few
		} else {
			large++
		}
	}
	most := make([]int, len(roles))
	for i, r := range roles {
		switch {
		case isForFew(r):
			most[i] = few
		case r == proxyRole: // each request may need another one, to a server
			most[i] = max(min(left/large/2, mostConns), 1)
		default:
			most[i] = max(min(left/large, mostConns), 1)
		}
	}
	return most
}

func isForFew(r role) bool { return r == metricsRole || r == adminRole || r == tokenRole }
