-- SPDX-License-Identifier: Apache-2.0
-- wrk: posts the bodies of a folder in turn (drive.mjs wrote them), each time with the times of now,
-- later steps and higher counters. TC_LOAD: the folder; TC_PACE: requests a second, 0 for no pace.
local ffi = require("ffi")
ffi.cdef [[
typedef struct { uint32_t at, kind; double value, per; } mark;
typedef struct { int64_t s, ns; } clock_value;
int clock_gettime(int, clock_value *);
void *malloc(size_t);
]]
local dir = os.getenv("TC_LOAD")
local pace = tonumber(os.getenv("TC_PACE") or "0")
local steps = tonumber(os.getenv("TC_STEPS") or "0")
local bodies, at, turn = {}, 0, 0
local clock = ffi.new("clock_value")
local i64 = ffi.typeof("int64_t *")
local f64 = ffi.typeof("double *")

local function slurp(name)
  local f = assert(io.open(name, "rb"))
  local text = f:read("*a")
  f:close()
  return text
end

-- Outside of Lua's own memory, which is small.
local function keep(text)
  local p = ffi.cast("uint8_t *", ffi.C.malloc(#text))
  ffi.copy(p, text, #text)
  return p
end

function init()
  wrk.headers["Content-Type"] = os.getenv("TC_TYPE")
  for i = 0, tonumber(os.getenv("TC_COUNT")) - 1 do
    local body = slurp(dir .. "/" .. i .. ".body")
    local marks = slurp(dir .. "/" .. i .. ".marks")
    local request = wrk.format("POST", os.getenv("TC_PATH"), nil, body)
    bodies[#bodies + 1] = { p = keep(request), size = #request, head = #request - #body,
      marks = ffi.cast("mark *", keep(marks)), count = #marks / 24 }
    body, marks, request = nil, nil, nil
    collectgarbage()
  end
end

local function digits(p, value, count)
  for i = count - 1, 0, -1 do
    local rest = math.floor(value / 10)
    p[i] = 48 + (value - rest * 10)
    value = rest
  end
end

local function refresh(b)
  ffi.C.clock_gettime(0, clock)
  local seconds = tonumber(clock.s)
  local now = clock.s * 1000000000LL + clock.ns
  local body = b.p + b.head
  for i = 0, b.count - 1 do
    local m = b.marks[i]
    local p = body + m.at
    local kind = m.kind
    if kind == 0 then
      ffi.cast(i64, p)[0] = now + ffi.cast("int64_t", m.value)
    elseif kind == 1 then
      digits(p, seconds + math.floor(m.value / 1e9), 10)
    elseif kind == 2 then
      local n = m.value + turn * steps
      p[0] = n % 128 + 128
      p[1] = math.floor(n / 128) % 128 + 128
      p[2] = math.floor(n / 16384)
    elseif kind == 3 then
      digits(p, m.value + turn * steps, 6)
    elseif kind == 4 then
      ffi.cast(f64, p)[0] = m.value + turn * m.per
    else
      digits(p, m.value + turn * m.per, 13)
    end
  end
end

function request()
  at = at + 1
  if at > #bodies then
    at = 1
    turn = turn + 1
  end
  local b = bodies[at]
  refresh(b)
  return ffi.string(b.p, b.size)
end

if pace > 0 then
  local due
  function delay()
    ffi.C.clock_gettime(1, clock)
    local now = tonumber(clock.s) * 1000 + tonumber(clock.ns) / 1e6
    due = due or now -- a pace begins with the first request, not with a second that was missed
    due = math.max(due + 1000 / pace, now - 1000)
    return math.max(0, math.floor(due - now + 0.5))
  end
end
