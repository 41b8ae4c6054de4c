-- Who there is. KEYS: 5 members, a hash from ids to when a member was seen and what it says of itself. ARGV: 2 "beat" to be
-- a member, "leave" to be none any more, "see" for neither; 3 id, 4 what is said, 5 after how many ms without a beat a
-- member is gone, 6 how many are read at most: somebody may have written any number. Returns the time, epoch and version, how many there were, of whatever kind, and of each member its id, when it was seen, and what it says.
local members, most = KEYS[5], tonumber(ARGV[5])
local room = tonumber(ARGV[6])
if not is(members, 'hash') then
  redis.call('DEL', members)
end
local found = redis.call('HLEN', members)
if found > 2 * room then -- it would take long to see who of them is left; those that are there say so again
  redis.call('UNLINK', members)
end
if ARGV[2] == 'beat' then
  redis.call('HSET', members, ARGV[3], text(now) .. ' ' .. ARGV[4])
elseif ARGV[2] == 'leave' then
  redis.call('HDEL', members, ARGV[3])
end
local out = {text(now), epoch, text(version), text(found)}
local cursor, dead = '0', {}
repeat
  local part = redis.call('HSCAN', members, cursor, 'COUNT', room)
  cursor = part[1]
  for i = 1, math.min(#part[2], 2 * room), 2 do
    local id, value = part[2][i], part[2][i + 1]
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
