// Package caddy has only tests: they run Caddy with the recipe of deploy in front of headgate.
package caddy
