#include "agent/inventory/facts/pci_config.h"

#include <set>

#include <fmt/format.h>

namespace railgauge::agent {
namespace {

// Offsets and numbers of the PCI and PCI Express specifications.
constexpr std::size_t kStatus = 0x06;
constexpr std::uint16_t kStatusHasCapabilities = 1U << 4U;
constexpr std::size_t kFirstCapability = 0x34;
constexpr std::size_t kFirstExtended = 0x100;
constexpr std::size_t kHeaderBytes = 0x40;
constexpr std::uint8_t kPciExpress = 0x10;
constexpr std::uint16_t kAcs = 0x000d;
constexpr std::uint16_t kAts = 0x000f;
constexpr std::uint16_t kAtsEnable = 1U << 15U;
constexpr std::size_t kMostCapabilities = 256;  // more do not fit

class Bytes {
 public:
  explicit Bytes(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  [[nodiscard]] bool has(std::size_t at, std::size_t count) const {
    return at + count <= bytes_.size();
  }
  [[nodiscard]] std::uint8_t byte(std::size_t at) const { return bytes_[at]; }
  [[nodiscard]] std::uint16_t word(std::size_t at) const {
    return static_cast<std::uint16_t>(bytes_[at] | bytes_[at + 1] << 8U);
  }

 private:
  std::span<const std::uint8_t> bytes_;
};

enum class Search : std::uint8_t { kFound, kNone, kBroken };
struct Found {
  Search search = Search::kNone;
  std::size_t at = 0;
};

Found find_capability(const Bytes& bytes, std::uint8_t wanted) {
  if ((bytes.word(kStatus) & kStatusHasCapabilities) == 0) return {};
  std::set<std::size_t> seen;
  std::size_t at = bytes.byte(kFirstCapability) & 0xfcU;
  while (at != 0) {
    if (at < kHeaderBytes || !bytes.has(at, 2) || !seen.insert(at).second)
      return {Search::kBroken, at};
    if (bytes.byte(at) == wanted) return {Search::kFound, at};
    at = bytes.byte(at + 1) & 0xfcU;
  }
  return {};
}

Found find_extended(const Bytes& bytes, std::uint16_t wanted) {
  std::set<std::size_t> seen;
  std::size_t at = kFirstExtended;
  while (at != 0) {
    if (at < kFirstExtended || !bytes.has(at, 4) || !seen.insert(at).second ||
        seen.size() > kMostCapabilities)
      return {Search::kBroken, at};
    const std::uint16_t id = bytes.word(at);
    if (id == 0xffff) return {};  // nothing answers there
    if (id == wanted) return {Search::kFound, at};
    at = bytes.word(at + 2) >> 4U & 0xffcU;
  }
  return {};
}

std::uint32_t size_of_code(unsigned code) { return 128U << (code & 7U); }

// A capability of at least `size` bytes as `read` takes it from its offset.
template <class Read>
auto read_capability(const Bytes& bytes, const Found& found, std::size_t size,
                     const std::string& source, const char* chain, Read read) {
  using T = decltype(read(found.at));
  if (found.search == Search::kNone) return Fact<T>::absent(source);
  if (found.search == Search::kBroken || !bytes.has(found.at, size))
    return Fact<T>::error(source, fmt::format("{}: its chain of {} is broken", source, chain));
  return Fact<T>::known(read(found.at), source);
}

Fact<PcieControl> read_pcie(const Bytes& bytes, const std::string& source) {
  return read_capability(
      bytes, find_capability(bytes, kPciExpress), 10, source, "capabilities", [&](std::size_t at) {
        const std::uint16_t control = bytes.word(at + 8);
        return PcieControl{.port_type = static_cast<std::uint8_t>(bytes.word(at + 2) >> 4U & 0xfU),
                           .relaxed_ordering = (control & 1U << 4U) != 0,
                           .max_payload_bytes = size_of_code(control >> 5U),
                           .max_read_request_bytes = size_of_code(control >> 12U)};
      });
}

}  // namespace

PciConfig parse_pci_config(std::span<const std::uint8_t> data, const std::string& source) {
  const Bytes bytes(data);
  const auto none = [&](FactState state, const char* why) {
    return config_without_value({state, source, fmt::format("{}: {}", source, why)});
  };
  if (data.size() < kPublicConfigBytes) return none(FactState::kError, "ends within its header");
  if (bytes.word(0) == 0xffff)
    return none(FactState::kError, "all ones: the device does not answer");
  if (data.size() == kPublicConfigBytes) return none(FactState::kUnknown, kNeedsSysAdmin);
  // A virtual machine's bridge of old, or a legacy access, ends before the extended space.
  PciConfig config = none(FactState::kUnknown, "no extended configuration space here");
  config.pcie = read_pcie(bytes, source);
  if (data.size() <= kFirstExtended) return config;
  constexpr const char* kChain = "extended capabilities";
  config.acs =
      read_capability(bytes, find_extended(bytes, kAcs), 8, source, kChain, [&](std::size_t at) {
        return PciAcs{.capability = bytes.word(at + 4),
                      .control = bytes.word(at + 6),
                      .offset = static_cast<std::uint16_t>(at)};
      });
  config.ats_enabled =
      read_capability(bytes, find_extended(bytes, kAts), 8, source, kChain,
                      [&](std::size_t at) { return (bytes.word(at + 6) & kAtsEnable) != 0; });
  return config;
}

}  // namespace railgauge::agent
