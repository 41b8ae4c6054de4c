// Command perip is a server in which each client may send 10 requests a second, and 20 more at one
// instant. It needs no configuration file.
package main

import (
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"

	"github.com/headgate/headgate/userspace/httplimit"
)

func main() {
	listen := flag.String("listen", "localhost:8080", "the address to listen on")
	flag.Parse()

	perIP, err := httplimit.PerIP("10r/s", 20, httplimit.Options{})
	if err != nil {
		log.Fatal(err)
	}
	http.Handle("/", perIP(http.HandlerFunc(hello)))

	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	log.Printf("listening on http://%s", listener.Addr())
	log.Fatal(http.Serve(listener, nil))
}

func hello(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") }
