// A healthy node in memory, for tests of checks: one GPU and one ConnectX-7 below a PCIe switch.
// Synthetic. A test changes one fact and examines one check.
#pragma once

#include "agent/preflight/rules/check.h"

namespace railgauge::agent {

// Returns the node. Every check passes on it, except checks that need a probe or a file of another
// driver.
Inventory sample_node();
// Returns a registration of its GPU with its NIC by dma-buf.
ProbeAnswer sample_probe();

inline constexpr const char* kSampleUplink = "0000:16:00.0";   // the switch's port toward the CPU
inline constexpr const char* kSampleGpuPort = "0000:17:00.0";  // the switch's ports
inline constexpr const char* kSampleNicPort = "0000:17:01.0";
inline constexpr const char* kSampleGpu = "0000:18:00.0";
inline constexpr const char* kSampleNic = "0000:19:00.0";

template <class T>
Fact<T> told(T value, const char* source = "test") {
  return Fact<T>::known(std::move(value), source);
}
template <class T>
void hide(Fact<T>& fact) {
  fact = Fact<T>::unknown("test", "nobody may read it");
}
template <class T>
void spoil(Fact<T>& fact) {
  fact = Fact<T>::error("test", "it makes no sense");
}
template <class T>
void lack(Fact<T>& fact) {
  fact = Fact<T>::absent("test");
}

}  // namespace railgauge::agent
