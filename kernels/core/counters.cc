// Reading of counter files, and the growth between two readings.
#include "kernels/core/counters.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

namespace railgauge {
namespace {

// Files that are read from one folder at most.
constexpr std::size_t kMaxFiles = 1024;
// Counters of older hardware have 32 bits.
constexpr std::uint64_t kWrap = 1ULL << 32U;

}  // namespace

// emplace() keeps the first folder's value of a name.
Counters read_counters(std::span<const std::string> folders) {
  Counters found;
  for (const std::string& folder : folders) {
    std::error_code error;
    std::size_t files = 0;
    for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
         at.increment(error)) {
      if (++files > kMaxFiles) break;
      std::ifstream file(at->path());
      std::uint64_t value = 0;
      if (file >> value) found.emplace(at->path().filename().string(), value);
    }
  }
  return found;
}

// Names are compared in lower case; a part anywhere in the name decides.
bool tells_of_trouble(std::string_view name) {
  constexpr std::array<std::string_view, 31> kParts{
      "error",     "_err",      "err_",         "discard",   "drop",    "retrans",  "retry",
      "retries",   "timeout",   "out_of_",      "oos",       "seq_",    "cnp",      "ecn",
      "rnr",       "nak",       "slow_restart", "overrun",   "downed",  "recovery", "integrity",
      "violation", "duplicate", "symbol",       "xmit_wait", "missing", "exceeded", "invalid",
      "icrc",      "collision", "fifo"};
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::ranges::any_of(
      kParts, [&lower](std::string_view part) { return lower.find(part) != std::string::npos; });
}

// A counter that is new in the second reading has no growth.
Counters grown_counters(const Counters& before, const Counters& after) {
  Counters grown;
  for (const auto& [name, now] : after) {
    const auto then = before.find(name);
    if (then == before.end() || now == then->second) continue;
    if (now > then->second) {
      grown[name] = now - then->second;
      continue;
    }
    // More than half the range would be more than any counter gains while we look: it was cleared.
    const bool has_wrapped = then->second < kWrap && kWrap - then->second + now < kWrap / 2;
    const std::uint64_t gained = has_wrapped ? kWrap - then->second + now : now;
    if (gained > 0) grown[name] = gained;
  }
  return grown;
}

Counters grown_troubles(const Counters& before, const Counters& after) {
  Counters grown = grown_counters(before, after);
  std::erase_if(grown, [](const auto& counter) { return !tells_of_trouble(counter.first); });
  return grown;
}

Counters grown_traffic(const Counters& before, const Counters& after) {
  Counters grown = grown_counters(before, after);
  std::erase_if(grown, [](const auto& counter) { return tells_of_trouble(counter.first); });
  return grown;
}

// The map's order makes the text the same for the same counters.
std::string counter_words(const Counters& counters, std::size_t most) {
  std::string words;
  std::size_t told = 0;
  for (const auto& [name, value] : counters) {
    if (told == most) {
      words += fmt::format(" and {} more", counters.size() - told);
      break;
    }
    words += fmt::format("{}{}={}", told == 0 ? "" : ", ", name, value);
    ++told;
  }
  return words;
}

}  // namespace railgauge
