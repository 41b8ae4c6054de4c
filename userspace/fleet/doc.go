// Package fleet is what the machines that share a Redis know of each other: who there is, and which rules the kernels of
// all of them have.
//
// # Members
//
// A member says every two seconds that it is there, and is gone when it has not for ten. It is known by a random id: two
// machines with the same name are two members. What Members returns follows what is seen as soon as that has been another
// number for ten seconds, and at once at the start; so that an agent that begins anew changes nothing, whether it said
// good-bye or not. While Redis does not answer the number stays.
//
// # Rules
//
// The truth is a sorted set of rules by their ends (package lua, begin.lua). Each change has a version, and what changed
// since a version can be asked for. A message says only that there is a new version: what it is, is read from the set. So
// nothing is lost with a message, nothing is believed of one, and many together are one question.
//
// At a prefix there may be one rule of a person and one of hand-downs. The person's goes first. Of a person's the later
// one is so; a hand-down shortens no other hand-down. Rules hold by the clock of Redis; those of the members do not matter.
//
// That Redis is empty is no order to let anybody pass. A rule ends when its time is over, or when it is taken back, which
// is a record of its own that stays for as long as the rule would have, at most 30 days. What is only missing is kept
// until its end, and published again by the member that published it. Everything that is known is compared at the start,
// when a connection was lost, and every five minutes.
//
// # What cannot happen
//
// Rules go round: only what this machine decided is published, and what came from others is given to the kernel alone.
//
// One machine locks everybody out: it publishes no more than so many rules in any minute, by its own count and by that of
// Redis, which remembers the name of the machine when the agent does not. Prefixes wider than /8, of IPv6 /16, are
// never in force. What must not be dropped is not dropped by the fleet either: each member asks what protects a prefix on
// that machine, when the rule comes and every minute.
package fleet
