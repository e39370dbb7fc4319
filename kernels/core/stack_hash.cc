// FNV-1a with 64 bits (Fowler, Noll, Vo; IETF draft-eastlake-fnv).
#include "kernels/core/stack_hash.h"

#include <cstdint>

#include <fmt/format.h>

namespace railgauge {
namespace {

// The offset basis and the prime of the 64-bit form.
constexpr std::uint64_t kBasis = 0xcbf29ce484222325U;
constexpr std::uint64_t kPrime = 0x100000001b3U;

// Mixes the bytes of `text` into the hash.
void add(std::uint64_t& hash, std::string_view text) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * kPrime;
}

// Mixes one "name=value" line for each entry.
void add(std::uint64_t& hash, const std::map<std::string, std::string>& part) {
  for (const auto& [name, value] : part) {
    add(hash, name);
    add(hash, "=");
    add(hash, value);
    add(hash, "\n");
  }
}

}  // namespace

std::string stack_hash(const std::map<std::string, std::string>& part) {
  std::uint64_t hash = kBasis;
  add(hash, part);
  return fmt::format("{:016x}", hash);
}

std::string stack_hash(const std::map<std::string, std::string>& versions,
                       const std::map<std::string, std::string>& settings) {
  std::uint64_t hash = kBasis;
  add(hash, versions);
  add(hash, "\n");  // no part's line: the same line in the other map is another stack
  add(hash, settings);
  return fmt::format("{:016x}", hash);
}

}  // namespace railgauge
