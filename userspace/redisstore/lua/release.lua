-- Frees places. ARGV has a name and how many for each key. A key that is not what it should be takes no other along.
local fault = ''
for i = 1, #KEYS do
  for place = 1, ARGV[2 * i] do
    local said = redis.pcall('ZREM', KEYS[i], ARGV[2 * i - 1] .. '/' .. place)
    if type(said) == 'table' and not string.find(said.err, '^WRONGTYPE') then
      fault = said
    end
  end
end
return fault
