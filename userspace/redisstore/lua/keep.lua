-- Writes a state, for as long as it is of use and a second more.
local use = x / q
if kind ~= 'l' then
  use = at + (kind == 's' and 2 * q or q) - now
end
redis.call('SET', KEYS[i], pack('<I8I8I8I8', at, x, y, q), 'PX', string.format('%d', use / 1000 + 1000.999))
