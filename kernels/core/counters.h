// Counters of the Linux kernel: files with one number each, such as an RDMA port's `counters` and
// `hw_counters` or a netdev's `statistics`. They are read before and after a measurement, and the
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

// Reads every file in `folders` that holds a number, keyed by file name; on equal names the first
// folder takes precedence. Unreadable files are omitted: a counter is never an error.
Counters read_counters(std::span<const std::string> folders);

// Reports whether a counter counts loss, errors, retries or congestion rather than traffic. Decides
// by name parts that drivers share (error, discard, out_of_, retrans, cnp...), because full names
// differ between drivers and releases. Pure.
bool tells_of_trouble(std::string_view name);

// Returns the counters that grew, with their growth. A counter that shrank has passed 2^32 where
// both values allow it; otherwise it was cleared and counts from zero. Pure.
Counters grown_counters(const Counters& before, const Counters& after);
// Return the grown trouble counters, and the other grown ones, which are the port's traffic. Pure.
Counters grown_troubles(const Counters& before, const Counters& after);
Counters grown_traffic(const Counters& before, const Counters& after);

// Most counters that one fact names.
inline constexpr std::size_t kMaxCountersTold = 16;
inline constexpr std::size_t kMaxTrafficTold = 32;
// Formats counters by name: "local_ack_timeout_err=3, out_of_sequence=12", at most `most`, then "
// and 4 more". Pure.
std::string counter_words(const Counters& counters, std::size_t most = kMaxCountersTold);

}  // namespace railgauge
