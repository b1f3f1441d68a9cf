-- Sends one request again and again, as its environment says, and reports in JSON.
wrk.method = "POST"
wrk.body = os.getenv("BENCH_BODY")
wrk.headers["content-type"] = "application/json"
for name, value in string.gmatch(os.getenv("BENCH_HEADERS"), "([%w-]+)=([^\n]+)") do wrk.headers[name] = value end

function done(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format(
    '\n{"requests":%d,"seconds":%f,"refused":%d,"broken":%d,"p50Ms":%f,"p99Ms":%f}\n',
    summary.requests, summary.duration / 1e6, errors.status, errors.connect + errors.read + errors.write + errors.timeout,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3))
end
