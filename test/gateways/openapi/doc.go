// Package openapi has only tests: a validator that is not ours reads the description of the admin API, and what an agent
// answers.
package openapi
