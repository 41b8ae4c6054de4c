// Package replay runs rules against recorded requests with the recorded clock, and tells what they
// would have done.
//
// # Recordings
//
// A Trace has a JSON object on each line:
//
//	{"t_ms":0,"ip":"203.0.113.7","method":"GET","host":"h","path":"/x","query":"a=1","headers":{"appid":"1"},"took_ms":12.5}
//
// t_ms, in milliseconds since any instant, and ip, the address of the TCP peer ("unix:" for a Unix
// socket), are required. Both times may have decimals, of which the nanoseconds count; t_ms may be
// negative and may go back. The others are as in [ruleset.Request]: the path is decoded, the query is not. Without
// them the method is GET, the path / and the host empty. A header is a text or a list of texts;
// cookies are in the header cookie. took_ms is how long the request took after its delay, if it was
// delayed: until then it holds its place among the requests at a time. Other fields are ignored.
//
// A Log is an access log of nginx or Apache: common, combined, either with the virtual host in front, and nginx's
// main, which is combined with X-Forwarded-For behind it. What follows on a line is ignored. A line of what was no
// request, as one that could not be parsed or a connection without one, is left out and counted.
//
// Either may be compressed with gzip. A line longer than MaxLine bytes, and one that is not of the
// format, is left out, counted and, if it is among the first few, told with the reason.
//
// # How it is run
//
// Lines are parsed on all CPUs and decided about one after the other, in their order. The result depends
// on nothing but the recording and the rules. Memory is bounded whatever the recording.
package replay
