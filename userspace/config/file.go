package config

// whole is a file while it is read.
type whole struct {
	*File
	root  mapping
	taken ports
}

// read returns the file whose root that is.
func (r *reader) read(root value) *File {
	f := &File{
		HTTP: HTTP{
			ClientIP: ClientIP{IPv4Prefix: DefaultIPv4Prefix, IPv6Prefix: DefaultIPv6Prefix},
			Headers:  DefaultHeaders,
		},
		Timeouts: defaultTimeouts(),
		Log:      Log{Format: LogText},
	}
	if !root.given() || root.null() {
		return f
	}
	if m, ok := root.mapping(fileFields()); ok {
		w := &whole{File: f, root: m, taken: newPorts()}
		w.readSections()
		w.checkSections()
	}
	return f
}

// readSections reads redis, kernel and http first, as others go by what they say.
func (w *whole) readSections() {
	for _, s := range []struct {
		name string
		read func(value)
	}{
		{"redis", w.readRedis},
		{"kernel", w.readKernel},
		{"http", w.readHTTP},
		{"listen", w.readListen},
		{"upstream", w.readUpstream},
		{"timeouts", w.readTimeouts},
		{"auth", w.readAuth},
		{"handdown", w.readHandDown},
		{"fleet", w.readFleet},
		{"adaptive", w.readAdaptive},
		{"metrics", w.readMetrics},
		{"admin", w.readAdmin},
		{"log", w.readLog},
		{"tracing", w.readTracing},
	} {
		if w.says(s.name) {
			s.read(w.root.field(s.name))
		}
	}
}

// says reports whether the file has a section. One with all of its lines commented out is as good as absent.
func (w *whole) says(section string) bool {
	v := w.root.field(section)
	return v.given() && !v.null()
}

func (w *whole) readHTTP(v value) {
	s := section{HTTP: w.HTTP, hasRedis: w.says("redis")}
	s.read(v)
	w.HTTP = s.HTTP
}

// right reports whether nothing is wrong so far: checks that go by what was read would only add to what is.
func (w *whole) right() bool { return len(w.root.file.errors) == 0 }
