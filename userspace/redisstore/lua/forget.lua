-- Makes a key one that was never seen, and tells whether it was.
return tostring(redis.call('DEL', KEYS[1]))
