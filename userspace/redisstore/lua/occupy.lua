-- Takes n places, until nobody has said for long that they are still taken. What Redis may refuse for want of memory comes first.
for place = 1, n do
  redis.call('ZADD', KEYS[i], string.format('%.0f', now + LEASE), ARGV[2] .. '/' .. place)
end
redis.call('ZREMRANGEBYSCORE', KEYS[i], '-inf', string.format('%.0f', now))
redis.call('PEXPIRE', KEYS[i], LEASE / 1000 + 1000)
