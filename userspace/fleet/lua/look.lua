-- What has changed since a version. ARGV: 2 the epoch and 3 the version that the member knows, 4 how many changes at most.
-- Returns the time, epoch and version, the version from which on it tells, and of each change its version, slot and record.
local from = tonumber(ARGV[3])
if ARGV[2] ~= epoch or from > version then
  from = 0 -- what the member knows is not of this set
end
local out = {text(now), epoch, text(version), text(from)}
local found = redis.call('ZRANGEBYSCORE', changes, '(' .. text(from), text(version), 'WITHSCORES', 'LIMIT', 0, ARGV[4])
for i = 1, #found, 2 do
  out[#out + 1] = text(tonumber(found[i + 1]))
  out[#out + 1] = found[i]
  out[#out + 1] = redis.call('HGET', rules, found[i]) or ''
end
renew()
return pack(out)
