-- Takes back what was charged. ARGV[1] has for each key what take.lua gets, but whether the charge began what it is counted
-- in, and when that was (of leaky, when it was charged), in place of a group and of how many more. It gives back no more than would
-- be left without the charge: less where others followed that would have been counted in another time.
local from = 2
for i = 1, #KEYS do
  local kind, began, n, since, p, q, r
  kind, began, n, since, p, q, r, from = fields('<c1BI8I8I8I8I8', ARGV[1], from)
  --insert state.lua
  local was, before = x, y
  if kind == 'l' then
    if since <= now and not changed and not converted then
      x = x - math.max(0, math.min(x, n * p - (now - since) * q))
    end
  elseif at == since then
    if x == n or x > n and began == 0 then
      x = x - n
    end
  elseif kind == 's' and at == since + q then
    if y == n and x == 0 or y > n and began == 0 then
      y = y - n
    end
  end
  if x == 0 and (kind ~= 's' or y == 0) then
    redis.call('DEL', KEYS[i])
  elseif x < was or y < before then
    --insert keep.lua
  end
end
return ''
