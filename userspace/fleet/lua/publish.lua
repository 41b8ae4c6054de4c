-- Changes of the rules. KEYS: 5 what the member has published in each second of the last minute. ARGV: 2 mode, 3 channel,
-- 4 how many rules the member may publish a minute, 5 how many there may be, and of each change, none with the slot of
-- another, its slot, kind ("r" for a rule, "t" for one taken back), at, left, class and body.
--
-- Modes: "set" all or none of somebody's rules; "share" as many hand-downs as may be; "again" what is missing here and was
-- published once; "unset". Of two records of a slot the one with the later "at" is so. It is given by this clock, and later
-- than what was there and than the "at" of the change, which is what the member knows; but mode "again" keeps it.
-- "left" is how many ms it holds from now on, 0 for no end. Of a rule to take back it is what the member knows, -1 for nothing.
--
-- Returns the time, epoch and version, a letter for each change ("w" written, "-" nothing to change, "q" too many in a
-- minute, "f" too many in all), how many would have fit, and in how many ms all would, -1 for never.
local mode, channel, quota = ARGV[2], ARGV[3], KEYS[5]
local mostAMinute, mostRules = tonumber(ARGV[4]), tonumber(ARGV[5])
local second = math.floor(now / 1000)

local function stop(ms)
  return ms == 0 and math.huge or ms
end

local function stored(slot)
  local kind, at, ms = string.match(redis.call('HGET', rules, slot) or '', '^([rt]) (%d+) (%d+) ')
  if not kind or #at > 14 or #ms > 14 then -- nothing that was written here
    kind, at = nil, 0
  end
  return {
    at = tonumber(at), stop = kind and stop(tonumber(ms)) or 0, rule = kind == 'r', gone = kind == 't',
  }
end

-- published returns how many rules the member has published in the last minute, and in which seconds.
local function published()
  if not is(quota, 'hash') or redis.call('HLEN', quota) > 100 then -- nothing that was written here
    redis.call('DEL', quota)
  end
  local sum, seconds, all = 0, {}, redis.call('HGETALL', quota)
  for i = 1, #all, 2 do
    local at, n = tonumber(all[i]), tonumber(all[i + 1])
    if at and n and at >= second - 60 and at <= second then
      sum = sum + n
      seconds[#seconds + 1] = {at = at, n = n}
    else
      redis.call('HDEL', quota, all[i])
    end
  end
  table.sort(seconds, function(a, b) return a.at < b.at end)
  return sum, seconds
end

-- decide reports whether a change is one, and completes it.
local function decide(c)
  local old = stored(c.slot)
  if mode == 'again' then
    return old.at < c.at
  end
  local live = old.rule and old.stop > now
  c.at = math.max(now, c.at + 1, old.at + 1)
  if c.kind == 't' then
    c.stop = math.min(math.max(c.stop, live and old.stop or 0), now + keep)
    return not old.gone and c.stop > now
  end
  return not (c.class == 'h' and live and old.stop >= c.stop) -- a hand-down shortens nothing
end

local function write(c)
  version = redis.call('HINCRBY', rules, 'version', 1)
  local ms = c.stop == math.huge and '0' or text(c.stop)
  redis.call('HSET', rules, c.slot, c.kind .. ' ' .. text(c.at) .. ' ' .. ms .. ' ' .. c.body)
  redis.call('ZADD', changes, version, c.slot)
  local to, from = ends, gone
  if c.kind == 't' then
    to, from = gone, ends
  end
  redis.call('ZADD', to, c.stop == math.huge and '+inf' or text(c.stop), c.slot)
  redis.call('ZREM', from, c.slot)
end

local function change(i)
  local left = tonumber(ARGV[i + 3])
  return {
    slot = ARGV[i], kind = ARGV[i + 1], at = tonumber(ARGV[i + 2]), class = ARGV[i + 4], body = ARGV[i + 5],
    stop = left < 0 and 0 or left == 0 and math.huge or now + left,
  }
end

local counts = mode == 'set' or mode == 'share'
local used, seconds = published()
local left = counts and math.max(0, mostAMinute - used) or math.huge
local room = mode == 'unset' and math.huge or math.max(0, mostRules - redis.call('ZCARD', ends))

-- First what is to be written, so that "all or none" is decided before anything is.
local letters, todo = {}, {}
for i = 6, #ARGV, 6 do
  local c = change(i)
  local n = #letters + 1
  letters[n] = '-'
  if decide(c) then
    local new = c.kind == 'r' and not redis.call('ZSCORE', ends, c.slot)
    if #todo >= left then
      letters[n] = 'q'
    elseif new and room == 0 then
      letters[n] = 'f'
    else
      letters[n] = 'w'
      todo[#todo + 1] = c
      room = new and room - 1 or room
    end
  end
end
local fit = #todo
local verdict = table.concat(letters)
if mode == 'set' and string.find(verdict, '[qf]') then
  todo = {}
end

local wait = 0
if string.find(verdict, 'q', 1, true) then
  local free, need = mostAMinute - used, #letters
  wait = need > mostAMinute and -1 or 0
  for _, s in ipairs(seconds) do
    if wait >= 0 and free < need then
      free = free + s.n
      wait = (s.at + 61) * 1000 - now
    end
  end
end

for _, c in ipairs(todo) do
  write(c)
end
if redis.call('ZCARD', gone) > mostRules then
  for _, slot in ipairs(redis.call('ZRANGE', gone, 0, redis.call('ZCARD', gone) - mostRules - 1)) do
    forget(slot)
  end
end
if #todo > 0 then
  if counts then
    redis.call('HINCRBY', quota, second, #todo)
    redis.call('PEXPIRE', quota, 61000)
  end
  redis.call('PUBLISH', channel, epoch .. ' ' .. text(version))
end
renew()
return pack({text(now), epoch, text(version), verdict, text(fit), text(wait)})
