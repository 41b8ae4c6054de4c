-- Who there is. KEYS: 5 members, a hash from ids to when a member was seen and what it says of itself. ARGV: 2 "beat" to be
-- a member, "leave" to be none any more, "see" for neither; 3 id, 4 what is said, 5 after how many ms without a beat a
-- member is gone. Returns the time, epoch and version, and of each member its id, when it was seen, and what it says.
local members, most = KEYS[5], tonumber(ARGV[5])
if not is(members, 'hash') then
  redis.call('DEL', members)
end
if ARGV[2] == 'beat' then
  redis.call('HSET', members, ARGV[3], text(now) .. ' ' .. ARGV[4])
elseif ARGV[2] == 'leave' then
  redis.call('HDEL', members, ARGV[3])
end
local out = {text(now), epoch, text(version)}
local all = redis.call('HGETALL', members)
for i = 1, #all, 2 do
  local seen, says = string.match(all[i + 1], '^(%d+) (.*)$')
  if seen and math.abs(now - tonumber(seen)) < most then
    out[#out + 1] = all[i]
    out[#out + 1] = seen
    out[#out + 1] = says
  else
    redis.call('HDEL', members, all[i])
  end
end
if ARGV[2] == 'beat' then
  redis.call('PEXPIRE', members, most)
end
renew()
return pack(out)
