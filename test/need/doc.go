// Package need skips tests where the machine lacks what they need. With HEADGATE_REQUIRE_ROOT=1 in
// the environment, as in `sudo make test`, they fail instead.
package need
