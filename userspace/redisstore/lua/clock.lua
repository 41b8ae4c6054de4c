-- now is the time, in µs, by Redis' clock: the machines need not agree on one.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
