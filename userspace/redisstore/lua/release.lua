-- Frees places. ARGV has a name and how many for each key. A key that is not what it should be takes no other along.
for i = 1, #KEYS do
  for place = 1, ARGV[2 * i] do
    redis.pcall('ZREM', KEYS[i], ARGV[2 * i - 1] .. '/' .. place)
  end
end
return ''
