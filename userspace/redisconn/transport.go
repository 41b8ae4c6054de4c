package redisconn

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
)

// transport carries jobs to servers. Its methods may be called at the same time.
type transport interface {
	// exchange does jobs in one round trip, or a few where the servers do not know a script or a slot has moved, and returns
	// when ctx ends. It sets the jobs' replies.
	exchange(ctx context.Context, jobs []*job)
	// renew looks up where the slots of a cluster are.
	renew(ctx context.Context)
	// subscribe asks for the messages of a channel.
	subscribe(ctx context.Context, channel string) (subscription, error)
	close() error
}

// client is a transport by go-redis.
type client struct {
	redis redis.UniversalClient
	joins bool // calls with keys of different slots may share a run
}

// Quiet has the library below write nothing to the standard error, in the whole process. What matters of it State tells.
func Quiet() { redis.SetLogger(&logging.VoidLogger{}) }

func (c client) exchange(ctx context.Context, jobs []*job) {
	c.send(ctx, jobs, false)
	var unknown []*job
	for _, j := range jobs {
		if redis.HasErrorPrefix(j.err, "NOSCRIPT") {
			unknown = append(unknown, j)
		}
	}
	if len(unknown) > 0 {
		c.send(ctx, unknown, true)
	}
}

// send sends jobs in one pipeline. What the library makes of nonsense may be a panic; it is an error here.
func (c client) send(ctx context.Context, jobs []*job, whole bool) {
	defer func() {
		if p := recover(); p != nil {
			for _, j := range jobs {
				j.err = fmt.Errorf("%w: %v", errNonsense, p)
			}
		}
	}()
	pipe := c.redis.Pipeline()
	runs := c.runs(jobs)
	commands := make([]*redis.Cmd, len(runs))
	for i, r := range runs {
		commands[i] = redis.NewCmd(ctx, r.command(whole)...)
		_ = pipe.Process(ctx, commands[i]) // only puts it into the pipeline
	}
	_, err := pipe.Exec(ctx)
	for i, r := range runs {
		r.answer(reply(commands[i], err))
	}
}

// reply returns what a command was answered. Where there was no connection for the pipeline, only that has the error.
func reply(c *redis.Cmd, pipeline error) (any, error) {
	err := c.Err()
	if err == nil && c.Val() == nil {
		err = pipeline
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w: %w", ErrTimeout, err)
	}
	return c.Val(), err
}

func (c client) renew(ctx context.Context) {
	if cluster, is := c.redis.(*redis.ClusterClient); is {
		cluster.ReloadState(ctx)
	}
}

func (c client) close() error {
	err := c.redis.Close()
	if err != nil && strings.Contains(err.Error(), "closed") {
		return nil // the library closes some connections twice
	}
	return err
}
