-- Decides about requests that come together and have one limit each: one.lua for each key, by one reading of the clock.
local function one(i)
  --insert decide.lua
  return reply
end
local replies = {}
for i = 1, #KEYS do
  replies[i] = one(i)
  if type(replies[i]) == 'table' then -- an error
    return replies[i]
  end
end
return replies
