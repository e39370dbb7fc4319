// Protobuf's wire format by hand: messages of foreign APIs by their published field numbers,
// without a schema of ours that could be wrong on both sides.
#pragma once

#include <cstdint>
#include <string>

namespace railgauge::agent {

inline std::string wire_varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7U) bytes += static_cast<char>((value & 0x7fU) | 0x80U);
  return bytes + static_cast<char>(value);
}
// Encodes a string, bytes or a message.
inline std::string wire_text(std::uint32_t field, const std::string& bytes) {
  return wire_varint(field << 3U | 2U) + wire_varint(bytes.size()) + bytes;
}
inline std::string wire_number(std::uint32_t field, std::uint64_t value) {
  return wire_varint(field << 3U) + wire_varint(value);
}

}  // namespace railgauge::agent
