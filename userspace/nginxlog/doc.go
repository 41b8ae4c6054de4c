// Package nginxlog finds in nginx's error log whom nginx has refused: the lines of limit_req and limit_conn.
//
//	2026/01/02 03:04:05 [error] 678#678: *9 limiting requests, excess: 0.500 by zone "perip", client: 192.0.2.1, server: ...
//	2026/01/02 03:04:05 [error] 678#678: *9 limiting connections by zone "addr", client: 192.0.2.1, server: ...
//
// What nginx delays, or would refuse in dry run, is no offence.
//
// # Whose address it is
//
// It is nginx's $remote_addr: that of the TCP peer, unless the realip module has replaced it. Where that takes it from a
// header, the packets are those of the proxy in front, and dropping those from the address in the log hits nobody or
// somebody else. So logs of an nginx behind a proxy on another machine are not for hand-down.
//
// # Clients that write lines of their own
//
// nginx writes into its log what clients send, as it is. It decodes a path before that, so that a request for /%0a2026...
// for a file that is not there gives a line that is the client's from its first byte to its last, with any address that he
// likes in it. A line cannot be told from a forged one by itself; so it is told by what is around it:
//
//   - a record is at most 4,096 bytes (2,048 in nginx itself, the double in OpenResty), and a line break gets into it only
//     by what it is about; one about a limit has none;
//   - the records of which nginx's core writes most have a break only where the request line, as it was sent, stands
//     behind it, with a %0a in it; or where the record is so long that it is cut off, at one of the two lengths;
//   - others may have anything: what an application wrote to stderr, a Lua program, an unknown module.
//
// So a line that follows a record of the second kind, by less than the length of one, is kept until it is known that
// there is no %0a and no record of full length around it. One that follows a record of the third
// kind that closely is left out, and so is one near which the doubt is confirmed (Counters.Doubtful). Who attacks can make
// his own lines doubtful by that, and is then still limited by nginx, but not handed down.
package nginxlog
