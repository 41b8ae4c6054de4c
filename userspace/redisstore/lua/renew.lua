-- Says that places are still taken, or takes them again. ARGV is that of release.lua.
local fault = ''
for i = 1, #KEYS do
  for place = 1, ARGV[2 * i] do
    local said = redis.pcall('ZADD', KEYS[i], string.format('%.0f', now + LEASE), ARGV[2 * i - 1] .. '/' .. place)
    if type(said) == 'table' and not string.find(said.err, '^WRONGTYPE') then
      fault = said
    end
  end
  redis.pcall('PEXPIRE', KEYS[i], LEASE / 1000 + 1000)
end
return fault
