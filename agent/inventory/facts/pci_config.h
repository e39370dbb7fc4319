// The facts of a PCI function's configuration space, from its bytes. Pure; any bytes are safe.
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

// From the PCI Express capability.
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
  Fact<bool> ats_enabled{};  // address translation services; absent: it has none
};

// None of it, for one reason.
inline PciConfig config_without_value(const FactInfo& info) {
  return {.pcie = {info, {}}, .acs = {info, {}}, .ats_enabled = {info, {}}};
}

inline constexpr std::size_t kPublicConfigBytes = 64;  // all that Linux shows without CAP_SYS_ADMIN
inline constexpr const char* kNeedsSysAdmin = "needs CAP_SYS_ADMIN to read beyond 64 bytes";

// Each fact carries `source` unchanged. 64 bytes or fewer: unknown, with the needed privilege;
// bytes that end before a capability: error; a chain of capabilities that loops: error.
PciConfig parse_pci_config(std::span<const std::uint8_t> bytes, const std::string& source);

}  // namespace railgauge::agent
