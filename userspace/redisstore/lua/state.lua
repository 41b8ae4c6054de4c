-- Sets at, x, y and z to the state of KEYS[i] at now. Of kind 'l' (leaky) they are the time of the last charge, what was owed then, and what
-- that is counted in: the cost of a unit, and what drains in a µs. Of 'w' (window) the start, the units, 0, and the length. Of 's'
-- (sliding) the start of the period, the units of it and of the one before, and the length. p, q and r are of the limit, see terms.go.
local at, x, y, z = now, 0, 0, q
local kept = redis.pcall('GET', KEYS[i])
local readable, changed, converted = not kept, false, false
if type(kept) == 'string' and #kept == 32 then
  at, x, y, z = fields('<I8I8I8I8', kept)
  readable = at < WHOLE and x < WHOLE and y < WHOLE and z < WHOLE and z > 0 and (kind ~= 'l' or y > 0)
end
if not readable then
  if type(kept) == 'table' and not string.find(kept.err, '^WRONGTYPE') then -- nothing that is wrong with this key
    return kept
  end
  -- somebody else wrote it: it goes by itself, and soon
  redis.pcall('PEXPIRE', KEYS[i], 60000, 'LT')
  return '!' .. i
end
if at > now then -- the clock was set back: nothing has drained, and all of it drains from here on
  at, changed = now, true
end
if kind == 'l' then
  local passed, owed = now - at, x
  x = x - passed * z
  if x <= 0 then
    x = 0
  elseif y ~= p or z ~= q then
    -- Of another rate: as many units are owed, rounded up, and drain at the faster of both. It is not cut to the burst: machines and rules
    -- whose limits differ would free the key for each other.
    local function ticks(old)
      local rest = old % y
      return (old - rest) / y * p + (rest > 0 and math.min(p, math.floor(rest * p / y) + 2) or 0)
    end
    x, owed, converted = math.min(ticks(x), WHOLE - 1), ticks(owed), true
    if owed < WHOLE then
      x = math.max(0, math.min(x, owed - passed * q))
    end
    if changed then -- it is written, and is to expire
      x = math.min(x, r)
    end
  end
  at, y = now, p
elseif z ~= q or x + y == 0 then -- nothing is counted, or in times of another length
  at, x, y = now, 0, 0
elseif now >= at + q then
  if kind == 's' and x > 0 and now < at + 2 * q then
    at, x, y = at + q, 0, x
  else
    at, x, y = now, 0, 0
  end
end
