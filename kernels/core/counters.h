// Counters that the kernel shows as files with one number each, such as an RDMA port's `counters`
// and `hw_counters` or a netdev's `statistics`. They are read before and after a measurement; the
// growth is reported.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace railgauge {

// Value by name, sorted.
using Counters = std::map<std::string, std::uint64_t>;

// Every file of `folders` that holds a number, by its name; the first folder that has a name
// counts. An unreadable file is left out: a counter is never an error.
Counters read_counters(std::span<const std::string> folders);

// Whether a counter of this name shows loss, errors, retries or congestion, and not traffic. Parts
// of names decide that drivers share (error, discard, out_of_, retrans, cnp...), because each
// driver and release has names of its own. Pure.
bool tells_of_trouble(std::string_view name);

// The counters that grew, with their growth. A counter that shrank has passed 2^32 where both
// values allow it; otherwise it was cleared and counts from zero. Pure.
Counters grown_counters(const Counters& before, const Counters& after);
// Among these the trouble counters, and the others, which are the port's traffic. Pure.
Counters grown_troubles(const Counters& before, const Counters& after);
Counters grown_traffic(const Counters& before, const Counters& after);

// Counters that a fact names at most.
inline constexpr std::size_t kMaxCountersTold = 16;
inline constexpr std::size_t kMaxTrafficTold = 32;
// "local_ack_timeout_err=3, out_of_sequence=12", by name, `most` at most, then " and 4 more". Pure.
std::string counter_words(const Counters& counters, std::size_t most = kMaxCountersTold);

}  // namespace railgauge
