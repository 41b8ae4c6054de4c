-- What every script of the fleet begins with. KEYS: 1 rules, a hash from slots to records, and of "epoch" and "version";
-- 2 ends, a sorted set of the slots with a rule by when it ends; 3 gone, likewise those whose rule was taken back;
-- 4 changes, all slots by the version that they are of. ARGV: 1 the name of an epoch, should one begin.
-- Times are in ms by the clock of Redis, and nobody else's.
local rules, ends, gone, changes = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local keep = 30 * 24 * 3600 * 1000 -- a key that no member renews for so long is forgotten

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

local function text(n)
  return string.format('%.0f', n)
end

-- pack returns fields as one string: the length of each before it.
local function pack(fields)
  local out = {}
  for i, field in ipairs(fields) do
    out[i] = #field .. ':' .. field
  end
  return table.concat(out)
end

local function is(key, kind)
  local got = redis.call('TYPE', key).ok
  return got == kind or got == 'none'
end

-- whole reports whether the keys fit together. They do not where one was lost, or somebody else wrote to it.
local function whole()
  if not (is(rules, 'hash') and is(ends, 'zset') and is(gone, 'zset') and is(changes, 'zset')) then
    return false
  end
  local head = redis.call('HMGET', rules, 'epoch', 'version')
  if not (head[1] and head[2] and string.match(head[2], '^%d+$') and #head[2] <= 15) then
    return false
  end
  local slots = redis.call('ZCARD', changes)
  return redis.call('HLEN', rules) == slots + 2 and redis.call('ZCARD', ends) + redis.call('ZCARD', gone) == slots
end

local function forget(slot)
  redis.call('ZREM', ends, slot)
  redis.call('ZREM', gone, slot)
  redis.call('ZREM', changes, slot)
  redis.call('HDEL', rules, slot)
end

local function renew()
  for i = 1, 4 do
    redis.call('PEXPIRE', KEYS[i], keep)
  end
end

if not whole() then
  redis.call('DEL', rules, ends, gone, changes)
  redis.call('HSET', rules, 'epoch', ARGV[1], 'version', '0')
end
for _, set in ipairs({ends, gone}) do
  for _, slot in ipairs(redis.call('ZRANGEBYSCORE', set, '-inf', text(now), 'LIMIT', 0, 1000)) do
    forget(slot)
  end
end
local head = redis.call('HMGET', rules, 'epoch', 'version')
local epoch, version = head[1], tonumber(head[2])
