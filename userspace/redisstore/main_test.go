package redisstore

import (
	"os"
	"testing"

	"github.com/headgate/headgate/test/seed"
)

func TestMain(m *testing.M) { os.Exit(seed.Run(m)) }
