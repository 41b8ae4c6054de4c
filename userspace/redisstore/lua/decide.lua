-- Decides about the only limit of a request, KEYS[i] as ARGV[i] asks, and sets reply.
local kind, _, n, more, p, q, r = fields('<c1BI8I8I8I8I8', ARGV[i], 2)
--insert state.lua
--insert fit.lua
local reply = pack('<c1I8I8I8I8I8', fits and '1' or '0', now, x, y, left, more)
if fits then
  x = x + (n + more) * cost
end
if fits and n > 0 or changed then
  --insert keep.lua
end
