package config_test

import (
	"fmt"

	"github.com/headgate/headgate/userspace/config"
)

func ExampleParse() {
	_, err := config.Parse("headgate.yaml", []byte(`
http:
  zones:
    perip: {key: ip, rate: 10rs}
  rules:
    - limits: [{zone: per-ip, brust: 20}]
`))
	fmt.Println(err)
	// Output:
	// headgate.yaml:4:28: http.zones.perip.rate: "10rs": unknown unit "rs"; use 10r/s, 30r/m or 100r/h
	// headgate.yaml:6:23: http.rules[0].limits[0].zone: unknown zone "per-ip"; did you mean perip? use perip
	// headgate.yaml:6:31: http.rules[0].limits[0].brust: unknown field "brust"; did you mean burst? use zone, burst, nodelay, delay or cost
}
