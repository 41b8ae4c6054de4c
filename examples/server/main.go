// Command server is a server whose requests are limited by the rules of a file.
//
//	go run ./examples/server -c examples/login.yaml
package main

import (
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/httplimit"
	"github.com/headgate/headgate/userspace/ruleset"
)

func main() {
	listen := flag.String("listen", "localhost:8080", "the address to listen on")
	path := flag.String("c", "headgate.yaml", "the configuration file")
	flag.Parse()

	limited, err := limits(*path)
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	log.Printf("listening on http://%s", listener.Addr())
	server := &http.Server{Handler: limited(http.HandlerFunc(hello)), ReadHeaderTimeout: 10 * time.Second}
	log.Fatal(server.Serve(listener))
}

// limits returns the middleware of a configuration file.
func limits(path string) (func(http.Handler) http.Handler, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	file, err := config.Parse(path, text)
	if err != nil {
		return nil, err // has lines and columns
	}
	for _, warning := range file.Warnings {
		log.Printf("warning: %s", warning)
	}
	set, err := ruleset.New(file.HTTP)
	if err != nil {
		return nil, err
	}
	return httplimit.New(set, httplimit.Options{Headers: file.HTTP.Headers}), nil
}

func hello(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "hello from %s\n", r.URL.Path) }
