-- Decides about the only limit of a request: take.lua without what several need.
local i = 1
--insert decide.lua
return reply
