package docs_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/headgate/headgate/test/redislab"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/redisconn"
)

// The recipe of Redis' user, what it grants beside the commands for a connection, what scripts call, and how Redis refuses.
var (
	redisRecipe = root + "/deploy/redis/headgate.conf"
	granted     = regexp.MustCompile(` \+([a-z]\S*)`)
	called      = regexp.MustCompile(`\bp?call\('([A-Za-z]+)'`)
	refusal     = regexp.MustCompile(`NOPERM|The user executing the script can't|ACL failure in script`)
)

// ofClients are the commands that are granted and that no script calls: those of the client, and of a cluster's.
var ofClients = []string{"eval", "evalsha", "script|load", "subscribe", "unsubscribe", "cluster|slots"}

// TestRedisUser checks that the user of the recipe may do what headgate does, and nothing else, on a real server.
func TestRedisUser(t *testing.T) {
	admin, user := redisByRecipe(t)
	do := func(args ...any) error { return user.Do(t.Context(), args...).Err() }
	for _, args := range [][]any{
		{"EVAL", "redis.call('SET', KEYS[1], '1', 'PX', 5000) return redis.call('GET', KEYS[1])", 1, "headgate:{a}:b"},
		{"EVAL", "return redis.call('TIME')[1]", 1, "headgate:a"},
		{"SCRIPT", "LOAD", "return '1'"},
		{"PUBLISH", "headgate:{fleet}:rules", "x"},
		{"SELECT", "1"},
	} {
		if err := do(args...); err != nil {
			t.Errorf("%q: %v", args, err)
		}
	}
	if err := admin.Set(t.Context(), "other", "1", 0).Err(); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]any{
		{"GET", "other"}, {"SET", "headgat", "1"}, {"EVAL", "return redis.call('GET', KEYS[1])", 1, "other"},
		{"EVAL", "return redis.call('GET', 'other')", 1, "headgate:a"}, {"EVAL", "return redis.call('FLUSHALL')", 1, "headgate:a"},
		{"FLUSHALL"}, {"KEYS", "*"}, {"SCAN", "0"}, {"CONFIG", "GET", "*"}, {"ACL", "LIST"}, {"CLIENT", "KILL", "TYPE", "normal"},
		{"SCRIPT", "FLUSH"}, {"SHUTDOWN", "NOSAVE"}, {"PUBLISH", "other", "x"}, {"SUBSCRIBE", "other"}, {"MONITOR"},
	} {
		if err := do(args...); err == nil || !refusal.MatchString(err.Error()) {
			t.Errorf("%q is not refused: %v", args, err)
		}
	}
}

// TestRedisUserSeesAnOutageEnd checks that what headgate does as the user of the recipe is enough to know when Redis is well again.
func TestRedisUserSeesAnOutageEnd(t *testing.T) {
	s := serverByRecipe(t)
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	conn, err := redisconn.Open(redisconn.Options{Config: config.Redis{
		Addrs: []string{s.Addr}, Username: "headgate", PasswordFile: password, Prefix: "headgate",
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	call := redisconn.Call{Script: redisconn.NewScript("return '1'"), Keys: []string{"headgate:{a}:b"}}
	await := func(health redisconn.Health) {
		t.Helper()
		for end := time.Now().Add(30 * time.Second); conn.State().Health != health; time.Sleep(5 * time.Millisecond) {
			_, _ = conn.Do(call, 0)
			if time.Now().After(end) {
				t.Fatalf("not %s: %+v", health, conn.State())
			}
		}
	}
	s.Kill()
	await(redisconn.Down)
	s.Restart()
	await(redisconn.Up)
}

// redisByRecipe starts a server with the recipe, and returns clients of one who may do all, and of headgate.
func redisByRecipe(t *testing.T) (admin, user *redis.Client) {
	t.Helper()
	s := serverByRecipe(t)
	admin = redis.NewClient(&redis.Options{Addr: s.Addr})
	user = redis.NewClient(&redis.Options{Addr: s.Addr, Username: "headgate", Password: "secret"})
	t.Cleanup(func() { admin.Close(); user.Close() })
	return admin, user
}

// serverByRecipe starts a server with the recipe, as the guide says. Its user's password is "secret".
func serverByRecipe(t *testing.T) *redislab.Server {
	t.Helper()
	sum := sha256.Sum256([]byte("secret"))
	recipe := strings.Replace(read(t, redisRecipe), "#SHA256 ", "#"+hex.EncodeToString(sum[:])+" ", 1)
	path := filepath.Join(t.TempDir(), "headgate.conf")
	if err := os.WriteFile(path, []byte(recipe), 0o600); err != nil {
		t.Fatal(err)
	}
	return redislab.Start(t, "--include", path)
}

// TestRedisUserOfACluster checks that the user of the recipe can find its way in a cluster.
func TestRedisUserOfACluster(t *testing.T) {
	cluster := redislab.StartCluster(t, 3, false)
	rules := regexp.MustCompile(`(?m)^user headgate on #SHA256 (.*)$`).FindStringSubmatch(read(t, redisRecipe))
	if rules == nil {
		t.Fatal("the recipe has no user headgate")
	}
	for _, s := range cluster.All() {
		s.Do(append([]string{"ACL", "SETUSER", "headgate", "on", ">secret"}, strings.Fields(rules[1])...)...)
	}
	user := redis.NewClusterClient(&redis.ClusterOptions{Addrs: cluster.Addrs()[:1], Username: "headgate", Password: "secret"})
	t.Cleanup(func() { user.Close() })
	set := redis.NewScript("redis.call('SET', KEYS[1], '1', 'PX', 5000) return '1'")
	for i := range 30 { // in all parts of the cluster
		if err := set.Run(t.Context(), user, []string{fmt.Sprintf("headgate:{%d}:a", i)}).Err(); err != nil {
			t.Errorf("key %d: %v", i, err)
		}
	}
}

// TestRedisUserMayRunScripts checks that the recipe grants each command that scripts call, and no other.
func TestRedisUserMayRunScripts(t *testing.T) {
	var grants []string
	for _, m := range granted.FindAllStringSubmatch(read(t, redisRecipe), -1) {
		grants = append(grants, m[1])
	}
	calls := scriptCalls(t)
	for _, c := range calls {
		if !slices.Contains(grants, c) {
			t.Errorf("scripts call %s, and %s does not grant it", c, redisRecipe)
		}
	}
	for _, g := range grants {
		if len(calls) > 0 && !slices.Contains(calls, g) && !slices.Contains(ofClients, g) {
			t.Errorf("%s grants %s, and no script calls it", redisRecipe, g)
		}
	}
}

// scriptCalls returns the commands that the scripts of the project call.
func scriptCalls(tb testing.TB) (commands []string) {
	tb.Helper()
	err := filepath.WalkDir(filepath.Join(root, "userspace"), func(path string, _ fs.DirEntry, err error) error {
		ours := filepath.Ext(path) == ".lua" || filepath.Ext(path) == ".go" && !strings.HasSuffix(path, "_test.go")
		if err != nil || !ours {
			return err
		}
		for _, m := range called.FindAllStringSubmatch(read(tb, path), -1) {
			commands = append(commands, strings.ToLower(m[1]))
		}
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	slices.Sort(commands)
	return slices.Compact(commands)
}
