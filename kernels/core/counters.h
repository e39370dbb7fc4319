// Counters that the kernel shows as files with one number each, as an RDMA port's `counters` and
// `hw_counters` or a netdev's `statistics`: read before and after, and what grew meanwhile.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace railgauge {

using Counters = std::map<std::string, std::uint64_t>;

// Every file of `folders` that holds a number, by its name; of two with one name the first folder's
// counts. An unreadable one is left out: a counter is never an error.
Counters read_counters(std::span<const std::string> folders);

// Whether a counter of this name shows loss, errors, retries or congestion, and not traffic.
// Decided by parts of names that drivers share (error, discard, out_of_, retrans, cnp...), because
// each driver and release has names of its own. Pure.
// driver and release has names of its own. Pure.
bool tells_of_trouble(std::string_view name);

// The counters that grew, and by how much. One that shrank has passed 2^32 where both values allow
// it, or was cleared: then it counts from zero. Pure.
Counters grown_counters(const Counters& before, const Counters& after);
// The trouble counters among these, and the others: the port's traffic. Pure.
Counters grown_troubles(const Counters& before, const Counters& after);
Counters grown_traffic(const Counters& before, const Counters& after);

// "local_ack_timeout_err=3, out_of_sequence=12", by name, `most` at most, then "and 4 more". Pure.
inline constexpr std::size_t kMaxCountersTold = 16;
inline constexpr std::size_t kMaxTrafficTold = 32;
std::string counter_words(const Counters& counters, std::size_t most = kMaxCountersTold);

}  // namespace railgauge
