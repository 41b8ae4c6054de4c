package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/headgate/headgate/test/netlab"
)

// build builds headgate from the source that this program is built from.
func build(ctx context.Context, dir string) (string, error) {
	const module = "github.com/headgate/headgate"
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return "", fmt.Errorf("find the source of headgate: %w; run this with go run in its module, or use -headgate", err)
	}
	to := filepath.Join(dir, "headgate")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", to, "./cmd/headgate")
	cmd.Dir = strings.TrimSpace(string(root))
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build headgate: %w: %s", err, out)
	}
	return to, nil
}

// agent is a headgate that runs.
type agent struct {
	*process
	program string
	server  *netlab.Namespace
	metrics string // path of the socket
	pin     string // of its instance
	bpffs   *netlab.BPFFS
}

// startAgent starts headgate in a directory. The configuration says all but where metrics are.
func (l *lab) startAgent(dir, config string) (*agent, error) {
	pins := filepath.Join(dir, "bpf")
	a := &agent{
		program: l.headgate, server: l.server,
		metrics: filepath.Join(dir, "metrics.sock"), pin: filepath.Join(pins, "headgate"),
	}
	file := filepath.Join(dir, "headgate.yaml")
	config += fmt.Sprintf("metrics: {listen: \"unix:%s\"}\nlog: {level: warn}\n", a.metrics)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return nil, err
	}
	if err := os.Mkdir(pins, 0o700); err != nil {
		return nil, err
	}
	var err error
	if a.bpffs, err = netlab.MountBPFFS(pins); err != nil {
		return nil, err
	}
	a.process, err = start(program{
		name: "headgate", in: l.server, at: l.atServer(),
		command: []string{l.headgate, "run", "-c", file, "--pin", a.pin},
	})
	if err == nil {
		err = a.awaitReady(l.ctx)
	}
	if err != nil {
		return nil, errors.Join(err, a.end())
	}
	return a, nil
}

// end ends the agent, and what it left in the kernel.
func (a *agent) end() error {
	if a.process == nil {
		return a.bpffs.Close()
	}
	err := a.stop()
	if _, statErr := os.Stat(a.pin); statErr == nil {
		err = errors.Join(err, a.server.Do(a.detach))
	}
	return errors.Join(err, a.bpffs.Close())
}

// detach detaches what the agent left. Unmounting would do it too, but some time later.
func (a *agent) detach() error {
	out, err := exec.Command(a.program, "detach", "--all", "--pin", a.pin).CombinedOutput()
	if err != nil {
		return fmt.Errorf("detach: %w: %s", err, out)
	}
	return nil
}

// awaitReady waits until the agent says that all of it works.
func (a *agent) awaitReady(ctx context.Context) error {
	return await(ctx, "headgate is ready", func() (bool, error) {
		response, err := a.get(ctx, "/readyz")
		if err != nil {
			return false, a.hasEnded()
		}
		response.Body.Close()
		return response.StatusCode == http.StatusOK, nil
	})
}

// get asks where metrics are. The body has to be closed.
func (a *agent) get(ctx context.Context, path string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://agent"+path, nil)
	if err != nil {
		return nil, err
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", a.metrics)
	}
	return (&http.Transport{DialContext: dial, DisableKeepAlives: true}).RoundTrip(r)
}

// Words of the metrics that are compared with what clients counted.
const (
	metricRequests = "headgate_http_requests_total"
	metricRules    = "headgate_http_rule_requests_total"
	metricPackets  = "headgate_kernel_packets_total"
	labelRefused   = `outcome="refused"`
	labelDrop      = `verdict="drop"`
)

// sample returns the sum of the metrics whose text contains all of the words.
func (a *agent) sample(ctx context.Context, words ...string) (int, error) {
	response, err := a.get(ctx, "/metrics")
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	return sumOf(response.Body, words)
}

// sumOf returns the sum of the metrics in a text that contain all of the words.
func sumOf(text io.Reader, words []string) (int, error) {
	sum, found := 0.0, false
	lines := bufio.NewScanner(text)
	for lines.Scan() {
		series, value, ok := strings.Cut(lines.Text(), "} ")
		if !ok {
			series, value, ok = strings.Cut(lines.Text(), " ")
		}
		if !ok || strings.HasPrefix(series, "#") || !containsAll(series, words) {
			continue
		}
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return 0, fmt.Errorf("metric %s: %w", series, err)
		}
		sum, found = sum+v, true
	}
	if err := lines.Err(); err != nil {
		return 0, err
	}
	if !found {
		return 0, fmt.Errorf("no metric has %q", words)
	}
	return int(sum), nil
}

func containsAll(text string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}
