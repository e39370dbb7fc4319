// Bounds of what an agent says about its node. The controller refuses a Hello beyond them, and the
// agent keeps within them. Pure; thread safe.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "controller/api/agent.pb.h"

namespace railgauge::api {

inline constexpr std::size_t kMaxHelloBytes = 1U << 20U;
inline constexpr int kMaxNics = 256;
inline constexpr int kMaxGpus = 64;
inline constexpr int kMaxKernels = 512;
inline constexpr std::size_t kMaxFactBytes = 64U << 10U;  // of facts and stack together
inline constexpr std::size_t kMaxTextBytes = 4U << 10U;   // of any one text

// The length of the control character at `at`: C0 without the tab, which old agents have in values,
// DEL, and C1, which steers a terminal as an escape sequence does. 0: it is none.
inline std::size_t control_length(std::string_view text, std::size_t at) {
  const auto byte = static_cast<unsigned char>(text[at]);
  if ((byte < 0x20 && byte != '\t') || byte == 0x7F) return 1;
  if (byte != 0xC2 || at + 1 == text.size()) return 0;
  return static_cast<unsigned char>(text[at + 1]) < 0xA0 ? 2 : 0;
}
inline bool has_control(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at)
    if (control_length(text, at) > 0) return true;
  return false;
}

// Whether it may name a NIC or GPU: their names are parts of endpoints (NODE/DEVICE:PORT,
// DEVICE:PORT+GPU), of lists, and of commands that people copy into a shell.
inline bool is_device_name(std::string_view name) {
  constexpr std::size_t kMost = 64;
  return !name.empty() && name.size() <= kMost && std::ranges::all_of(name, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-';
  });
}

// The devices of a Hello, to find those that it says twice. The store knows a device by its slot: a
// PCI address, or the interface of a software device. Two in one slot would replace each other.
class Devices {
 public:
  // False: another one has its slot and port, or its name.
  bool add(const Nic& nic) {
    std::string place = nic.pci_address();
    if (place.empty() && !nic.netdev().empty()) place = "netdev:" + nic.netdev();
    return add(std::move(place), fmt::format("{}:{}", nic.device(), nic.port()), nic.port());
  }
  bool add(const Gpu& gpu) { return add(gpu.pci_address(), gpu.name(), 0); }

 private:
  bool add(std::string place, const std::string& name, std::uint32_t port) {
    if (place.empty()) place = "device:" + name;
    const bool is_new =
        !names_.contains(name) && slots_.insert(fmt::format("{} {}", place, port)).second;
    if (is_new) names_.insert(name);
    return is_new;
  }
  std::set<std::string> slots_{"host 0"};  // the store's name of the node itself
  std::set<std::string> names_;
};

}  // namespace railgauge::api
