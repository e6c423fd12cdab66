-- Sends creates with fresh ids until the time is over, then nothing more, so that every create has
-- been answered when wrk counts. Arguments: seconds, order, first id or seed, token.
-- Prints one line of JSON. Made for one thread.
local ffi = require('ffi')
ffi.cdef('struct timespec { long s; long ns; }; int clock_gettime(int clock, struct timespec *t);')

local timespec = ffi.new('struct timespec')
local function now()
  ffi.C.clock_gettime(0, timespec)
  return tonumber(timespec.s) + tonumber(timespec.ns) / 1e9
end

local function ascending(first)
  local id = first - 1
  return function()
    id = id + 1
    return string.format('%.0f', id)
  end
end

-- A number of Lua is exact up to 2^53 only, so a random int64 is written in two parts.
local function random(seed)
  math.randomseed(seed)
  return function()
    local sign = math.random(2) == 1 and '-' or ''
    return string.format('%s%.0f%09.0f', sign, math.random(1, 9223372035), math.random(0, 999999999))
  end
end

local threads = {}
function setup(thread)
  table.insert(threads, thread)
end

local head, next_id, started, ends
-- wrk asks for one request before the first, to look at it; it is not sent.
issued = -1
seconds = 0

function init(args)
  seconds = tonumber(args[1])
  next_id = args[2] == 'random' and random(tonumber(args[3])) or ascending(tonumber(args[3]))
  head = 'POST ' .. wrk.path .. ' HTTP/1.1\r\nHost: ' .. wrk.host .. ':' .. wrk.port ..
    '\r\nAuthorization: Bearer ' .. args[4] ..
    '\r\nContent-Type: application/json\r\nContent-Length: '
end

function request()
  local time = now()
  if issued == 0 then ends = time + seconds end
  -- After an empty request wrk waits, for an answer that does not come.
  if ends and time > ends then return '' end
  issued = issued + 1
  local body = '{"id":' .. next_id() .. ',"name":"Monstera deliciosa","tag":"indoor"}'
  return head .. #body .. '\r\n\r\n' .. body
end

function done(summary)
  local issued = threads[1]:get('issued')
  io.write(string.format(
    '\n{"issued":%d,"answered":%d,"refused":%d}\n', issued, summary.requests, summary.errors.status))
end
