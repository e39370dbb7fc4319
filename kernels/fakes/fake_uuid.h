// What GPU number `index` is called by every fake library.
#pragma once

#include <array>
#include <cstdint>

namespace railgauge::fake {

inline std::array<std::uint8_t, 16> fake_uuid(unsigned index) {
  return {'f',  'a', 'k', 'e', 0, 0, 0x40, 0,
          0x80, 0,   'r', 'g', 0, 0, 0,    static_cast<std::uint8_t>(index)};
}
// The PCI bus that it sits on; domain, device and function are 0.
inline unsigned fake_bus(unsigned index) { return 0xe0 + index; }

}  // namespace railgauge::fake
