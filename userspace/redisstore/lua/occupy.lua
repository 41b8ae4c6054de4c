-- Takes n places, until nobody has said for long that they are still taken.
redis.call('ZREMRANGEBYSCORE', KEYS[i], '-inf', string.format('%.0f', now))
for place = 1, n do
  redis.call('ZADD', KEYS[i], string.format('%.0f', now + LEASE), ARGV[2] .. '/' .. place)
end
redis.call('PEXPIRE', KEYS[i], LEASE / 1000 + 1000)
