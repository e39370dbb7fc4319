// Facts of a PCI function's configuration space, parsed from its bytes. Pure; accepts any bytes.
#pragma once

#include <cstdint>
#include <span>

#include "agent/inventory/facts/fact.h"

namespace railgauge::agent {

// Bits of ACS' capability and control words.
inline constexpr std::uint16_t kAcsSourceValidation = 1U << 0U;
inline constexpr std::uint16_t kAcsTranslationBlocking = 1U << 1U;
inline constexpr std::uint16_t kAcsRequestRedirect = 1U << 2U;
inline constexpr std::uint16_t kAcsCompletionRedirect = 1U << 3U;
inline constexpr std::uint16_t kAcsUpstreamForwarding = 1U << 4U;
inline constexpr std::uint16_t kAcsEgressControl = 1U << 5U;
inline constexpr std::uint16_t kAcsDirectTranslated = 1U << 6U;

struct PciAcs {
  std::uint16_t capability = 0;
  std::uint16_t control = 0;
  std::uint16_t offset = 0;  // of the capability in config space; the control word is at +6
  bool operator==(const PciAcs&) const = default;
};

// Facts of the PCI Express capability.
struct PcieControl {
  std::uint8_t port_type =
      0;  // 0 endpoint, 1 legacy endpoint, 4 root port, 5 upstream, 6 downstream
  bool relaxed_ordering = false;
  std::uint32_t max_payload_bytes = 0;
  std::uint32_t max_read_request_bytes = 0;
  bool operator==(const PcieControl&) const = default;
};

struct PciConfig {
  Fact<PcieControl> pcie{};
  Fact<PciAcs> acs{};
  Fact<bool> ats_enabled{};  // address translation services; absent: no such capability
};

// Returns a PciConfig without values, each fact with the state and reason of `info`.
inline PciConfig config_without_value(const FactInfo& info) {
  return {.pcie = {info, {}}, .acs = {info, {}}, .ats_enabled = {info, {}}};
}

inline constexpr std::size_t kPublicConfigBytes = 64;  // shown without CAP_SYS_ADMIN
inline constexpr const char* kNeedsSysAdmin = "needs CAP_SYS_ADMIN to read beyond 64 bytes";

// Parses all facts; each has `source` unchanged. Unknown, with the needed privilege: 64 bytes or
// fewer. Error: the bytes end before a capability, or the chain of capabilities loops.
PciConfig parse_pci_config(std::span<const std::uint8_t> bytes, const std::string& source);

}  // namespace railgauge::agent
