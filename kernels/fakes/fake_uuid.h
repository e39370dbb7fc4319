// Identities of the fake GPUs, equal in every fake library.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>

namespace railgauge::fake {

// Returns the host's number of this process's first GPU: RAILGAUGE_FAKE_FIRST_GPU, for tests whose
// nodes share this machine.
inline unsigned first_gpu() {
  const char* told = std::getenv("RAILGAUGE_FAKE_FIRST_GPU");
  return told == nullptr ? 0 : static_cast<unsigned>(std::atoi(told));
}
inline std::array<std::uint8_t, 16> fake_uuid(unsigned index) {
  return {'f',  'a', 'k', 'e', 0, 0, 0x40, 0,
          0x80, 0,   'r', 'g', 0, 0, 0,    static_cast<std::uint8_t>(first_gpu() + index)};
}
// Returns the GPU's PCI bus; domain, device and function are 0.
inline unsigned fake_bus(unsigned index) { return 0xe0 + first_gpu() + index; }

}  // namespace railgauge::fake
