-- Decides about all limits of a request, and charges all of them or none. All are read before any is charged, so that no
-- error leaves a part of it.
--
-- ARGV[1] is 't', or 'r' where a key is repeated, or 'p' to charge nothing, and then for each key what is asked, see ask.go. ARGV[2]
-- names the lease.
local mode, from = fields('<c1', ARGV[1])
local charging = mode ~= 'p'
local asked, refused, reply = {}, {}, ''
for i = 1, #KEYS do
  local kind, group, n, more, p, q, r
  kind, group, n, more, p, q, r, from = fields('<c1BI8I8I8I8I8', ARGV[1], from)
  local fit
  if kind == 'c' then
    local used = redis.pcall('ZCOUNT', KEYS[i], '(' .. string.format('%.0f', now), '+inf')
    if type(used) ~= 'number' then
      if not string.find(used.err, '^WRONGTYPE') then -- nothing that is wrong with this key
        return used
      end
      redis.pcall('PEXPIRE', KEYS[i], 60000, 'LT')
      return '!' .. i
    end
    fit = n <= p - used or n == 0
    asked[i] = { kind, group, n }
    reply = reply .. pack('<I8I8I8I8', used, 0, 0, 0)
  else
    --insert state.lua
    if changed and charging then
      --insert keep.lua
    end
    --insert fit.lua
    fit = fits
    asked[i] = { kind, group, n, at, x + (n + more) * cost, y, q }
    reply = reply .. pack('<I8I8I8I8', x, y, left, more)
  end
  if not fit then
    refused[group] = true
  end
end

-- covered tells whether another limit is charged in place of i, which has the same key: the first of those that are enforced and have the
-- most units.
local function covered(i)
  local _, group, n = unpack(asked[i])
  for j = 1, #KEYS do
    local _, other, units = unpack(asked[j])
    if KEYS[j] == KEYS[i] and not refused[other] then
      if (group == 0) ~= (other == 0) then
        if other == 0 then
          return true
        end
      elseif units > n or units == n and j < i then
        return true
      end
    end
  end
  return false
end

for i = 1, charging and not refused[0] and #KEYS or 0 do
  local kind, group, n, at, x, y, q = unpack(asked[i])
  if not refused[group] and n > 0 and not (mode == 'r' and covered(i)) then
    if kind == 'c' then
      --insert occupy.lua
    else
      --insert keep.lua
    end
  end
end
return pack('<c1I8', refused[0] and '0' or '1', now) .. reply
