-- Sets fits to whether n units do, cost to what one adds to x, and left to how long the period lasts. more, which is how many are
-- wanted beside n, is cut to what fits.
local free, cost, left = p - x, 1, at + q - now
if kind == 'l' then
  free, cost, left = r - x, p, 0
  free = (free - free % p) / p
elseif kind == 's' then
  local faded = y * left
  free = free - (faded - faded % q) / q
end
if more > free - n then
  more = math.max(free - n, 0)
end
local fits = n <= free or n == 0
