package watch

import "github.com/fsnotify/fsnotify"

// Notices says that something has happened to files and directories, but not what. nil is one that says nothing. Its methods
// may be called at the same time, but not after Close.
type Notices struct {
	watcher *fsnotify.Watcher
	told    chan struct{}
}

// NewNotices returns Notices of nothing yet. The error is that the kernel has no more of them to give (inotify).
func NewNotices() (*Notices, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	n := &Notices{watcher: w, told: make(chan struct{}, 1)}
	go n.listen()
	return n, nil
}

// listen takes all that the library says as it comes: it may say something while it holds the lock that Add waits for.
func (n *Notices) listen() {
	for {
		var open bool
		select {
		case _, open = <-n.watcher.Events:
		case _, open = <-n.watcher.Errors: // some events were lost
		}
		if !open {
			return
		}
		select {
		case n.told <- struct{}{}:
		default: // it is known already that something has happened
		}
	}
}

// C has an element when something has happened, or may have: once for all that happened since the last one was taken.
func (n *Notices) C() <-chan struct{} {
	if n == nil {
		return nil
	}
	return n.told
}

// Add watches a file, or what comes into a directory. The error says why it cannot; of one that is not there it is
// fs.ErrNotExist.
func (n *Notices) Add(name string) error {
	if n == nil {
		return nil
	}
	return n.watcher.Add(name)
}

// Remove watches a file or directory no more.
func (n *Notices) Remove(name string) {
	if n != nil {
		_ = n.watcher.Remove(name) // it may not have been watched
	}
}

// Close ends it.
func (n *Notices) Close() {
	if n != nil {
		_ = n.watcher.Close()
	}
}
