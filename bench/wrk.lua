-- Sends requests with another id each. Arguments: the place of the first id, the number of ids (0 for
-- ascending ids), token, method, path, a body, in which {id} is the id, and a header. Prints how many
-- requests were sent, answered and refused, in how many microseconds, and how many microseconds half of
-- the answers and 99 of 100 answers took at most. Made for one thread.

-- A function that puts an id into a text.
local function template(text)
  local before, after = text:match('^(.-){id}(.*)$')
  if not before then return function() return text end end
  return function(id) return before .. id .. after end
end

local threads = {}
function setup(thread)
  table.insert(threads, thread)
end

local place, rows, path, body, method, head
-- wrk asks for one request before the first, to look at it; it is not sent.
issued = -1

function init(args)
  place, rows = tonumber(args[1]), tonumber(args[2])
  method, path, body = args[4] .. ' ', template(args[5]), template(args[6])
  head = ' HTTP/1.1\r\nHost: ' .. wrk.host .. ':' .. wrk.port ..
    '\r\nAuthorization: Bearer ' .. args[3]
  if args[7] ~= '' then head = head .. '\r\n' .. args[7] end
  if args[6] ~= '' then head = head .. '\r\nContent-Length: ' end
end

function request()
  -- A prime, so that the stride reaches every row unless the number of rows is its multiple.
  local id = string.format('%.0f', rows == 0 and place or (place * 611953) % rows + 1)
  if issued >= 0 then place = place + 1 end
  issued = issued + 1
  local text = body(id)
  return method .. path(id) .. head .. (text == '' and '' or #text) .. '\r\n\r\n' .. text
end

function done(summary, latency)
  local issued = threads[1]:get('issued')
  io.write(string.format('\n[%d,%d,%d,%d,%d,%d]\n',
    issued, summary.requests, summary.errors.status, summary.duration,
    latency:percentile(50), latency:percentile(99)))
end
