#include "agent/inventory/facts/pci_config.h"

#include <set>

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

Fact<PcieControl> read_pcie(const Bytes& bytes, const std::string& source) {
  const Found found = find_capability(bytes, kPciExpress);
  if (found.search == Search::kNone) return Fact<PcieControl>::absent(source);
  if (found.search == Search::kBroken || !bytes.has(found.at, 10))
    return Fact<PcieControl>::error(source, source + ": its chain of capabilities is broken");
  const std::uint16_t flags = bytes.word(found.at + 2);
  const std::uint16_t supported = bytes.word(found.at + 4);
  const std::uint16_t control = bytes.word(found.at + 8);
  return Fact<PcieControl>::known({.port_type = static_cast<std::uint8_t>(flags >> 4U & 0xfU),
                                   .relaxed_ordering = (control & 1U << 4U) != 0,
                                   .max_payload_bytes = size_of_code(control >> 5U),
                                   .max_payload_supported_bytes = size_of_code(supported),
                                   .max_read_request_bytes = size_of_code(control >> 12U)},
                                  source);
}

Fact<PciAcs> read_acs(const Bytes& bytes, const std::string& source) {
  const Found found = find_extended(bytes, kAcs);
  if (found.search == Search::kNone) return Fact<PciAcs>::absent(source);
  if (found.search == Search::kBroken || !bytes.has(found.at, 8))
    return Fact<PciAcs>::error(source, source + ": its chain of extended capabilities is broken");
  return Fact<PciAcs>::known({.capability = bytes.word(found.at + 4),
                              .control = bytes.word(found.at + 6),
                              .offset = static_cast<std::uint16_t>(found.at)},
                             source);
}

Fact<bool> read_ats(const Bytes& bytes, const std::string& source) {
  const Found found = find_extended(bytes, kAts);
  if (found.search == Search::kNone) return Fact<bool>::absent(source);
  if (found.search == Search::kBroken || !bytes.has(found.at, 8))
    return Fact<bool>::error(source, source + ": its chain of extended capabilities is broken");
  return Fact<bool>::known((bytes.word(found.at + 6) & kAtsEnable) != 0, source);
}

template <class T>
Fact<T> hidden(const std::string& source) {
  return Fact<T>::unknown(source, source + ": " + kNeedsSysAdmin);
}

}  // namespace

PciConfig parse_pci_config(std::span<const std::uint8_t> data, const std::string& source) {
  const Bytes bytes(data);
  PciConfig config;
  if (data.size() < kPublicConfigBytes) {
    const std::string reason = source + ": ends within its header";
    return {.pcie = Fact<PcieControl>::error(source, reason),
            .acs = Fact<PciAcs>::error(source, reason),
            .ats_enabled = Fact<bool>::error(source, reason)};
  }
  if (bytes.word(0) == 0xffff) {
    const std::string reason = source + ": all ones: the device does not answer";
    return {.pcie = Fact<PcieControl>::error(source, reason),
            .acs = Fact<PciAcs>::error(source, reason),
            .ats_enabled = Fact<bool>::error(source, reason)};
  }
  if (data.size() == kPublicConfigBytes)
    return {.pcie = hidden<PcieControl>(source),
            .acs = hidden<PciAcs>(source),
            .ats_enabled = hidden<bool>(source)};
  config.pcie = read_pcie(bytes, source);
  if (data.size() <= kFirstExtended) {  // a virtual machine's bridge of old, or a legacy access
    config.acs = Fact<PciAcs>::unknown(source, source + ": no extended configuration space here");
    config.ats_enabled =
        Fact<bool>::unknown(source, source + ": no extended configuration space here");
    return config;
  }
  config.acs = read_acs(bytes, source);
  config.ats_enabled = read_ats(bytes, source);
  return config;
}

}  // namespace railgauge::agent
