// Command headgate limits the traffic of every source at the network card and shows what happens.
package main

import (
	"context"
	"os"
)

func main() { os.Exit(run(context.Background(), newEnv(), os.Args[1:])) }
