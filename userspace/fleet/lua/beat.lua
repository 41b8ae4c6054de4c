-- Who there is. KEYS: 5 members, a hash from ids to when a member was seen and what it says of itself. ARGV: 2 "beat" to be
-- a member, "leave" to be none any more, "see" for neither; 3 id, 4 what is said, 5 after how many ms without a beat a
-- member is gone, 6 how many are read at most: somebody may have written any number. Returns the time, epoch and version, and of each member its id, when it was seen, and what it says.
local members, most = KEYS[5], tonumber(ARGV[5])
local room = tonumber(ARGV[6])
if not is(members, 'hash') then
  redis.call('DEL', members)
end
if ARGV[2] == 'beat' then
  redis.call('HSET', members, ARGV[3], text(now) .. ' ' .. ARGV[4])
elseif ARGV[2] == 'leave' then
  redis.call('HDEL', members, ARGV[3])
end
local out = {text(now), epoch, text(version)}
local cursor, dead = '0', {}
repeat
  local found = redis.call('HSCAN', members, cursor, 'COUNT', room)
  cursor = found[1]
  for i = 1, math.min(#found[2], 2 * room), 2 do
    local id, value = found[2][i], found[2][i + 1]
    local seen, says = string.match(value, '^(%d+) (.*)$')
    if seen and math.abs(now - tonumber(seen)) < most then
      out[#out + 1] = id
      out[#out + 1] = seen
      out[#out + 1] = says
    else
      dead[#dead + 1] = id
    end
    room = room - 1
  end
until cursor == '0' or room <= 0
for _, id in ipairs(dead) do -- not before: a scan may tell something twice if it changes
  redis.call('HDEL', members, id)
end
if ARGV[2] == 'beat' then
  redis.call('PEXPIRE', members, most)
end
renew()
return pack(out)
