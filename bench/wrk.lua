-- Sends requests with other ids each until the time is over, then nothing more, so that every one
-- has been answered when wrk counts. Arguments: seconds, the place of the first id, the number of
-- ids (0 for ascending ids), token, method, path, and a body, in which {id} is the id.
-- Prints how many requests were sent, answered and refused. Made for one thread.
local ffi = require('ffi')
ffi.cdef('struct timespec { long s; long ns; }; int clock_gettime(int clock, struct timespec *t);')

local timespec = ffi.new('struct timespec')
local function now()
  ffi.C.clock_gettime(0, timespec)
  return tonumber(timespec.s) + tonumber(timespec.ns) / 1e9
end

-- A function that puts an id into a text. To join few pieces is quicker than to look for a pattern.
local function template(text)
  local pieces, from = {}, 1
  while true do
    local first, last = text:find('{id}', from, true)
    table.insert(pieces, text:sub(from, (first or 0) - 1))
    if not first then break end
    from = last + 1
  end
  if #pieces == 1 then return function() return text end end
  return function(id) return table.concat(pieces, id) end
end

local threads = {}
function setup(thread)
  table.insert(threads, thread)
end

local seconds, place, rows, path, body, method, head, ends
-- wrk asks for one request before the first, to look at it; it is not sent.
issued = -1

function init(args)
  seconds, place, rows = tonumber(args[1]), tonumber(args[2]), tonumber(args[3])
  method, path, body = args[5] .. ' ', template(args[6]), template(args[7])
  head = ' HTTP/1.1\r\nHost: ' .. wrk.host .. ':' .. wrk.port ..
    '\r\nAuthorization: Bearer ' .. args[4]
  if args[7] ~= '' then head = head .. '\r\nContent-Type: application/json\r\nContent-Length: ' end
end

function request()
  local time = now()
  if issued == 0 then ends = time + seconds end
  -- After an empty request wrk waits, for an answer that does not come.
  if ends and time > ends then return '' end
  -- A prime, so that the stride reaches every row unless the number of rows is its multiple.
  local id = string.format('%.0f', rows == 0 and place or (place * 611953) % rows + 1)
  if issued >= 0 then place = place + 1 end
  issued = issued + 1
  local text = body(id)
  return method .. path(id) .. head .. (text == '' and '' or #text) .. '\r\n\r\n' .. text
end

function done(summary)
  local issued = threads[1]:get('issued')
  io.write(string.format('\n[%d,%d,%d]\n', issued, summary.requests, summary.errors.status))
end
