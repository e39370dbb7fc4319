// HTTP/2 frames as bytes, for tests. The header blocks are no HPACK that gRPC would take.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace railgauge::relay {

constexpr std::string_view kTestPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
enum TestFrame : std::uint8_t {
  kDataFrame = 0,
  kHeadersFrame = 1,
  kPriorityFrame = 2,
  kResetFrame = 3,
  kSettingsFrame = 4,
  kPushFrame = 5,
  kPingFrame = 6,
  kGoawayFrame = 7,
  kWindowFrame = 8,
  kContinuationFrame = 9,
};
constexpr std::uint8_t kEndStreamFlag = 1;
constexpr std::uint8_t kEndHeadersFlag = 4;

using FrameBytes = std::vector<std::uint8_t>;

inline FrameBytes bytes_of(std::string_view text) { return {text.begin(), text.end()}; }

inline FrameBytes frame(std::uint8_t type, std::uint8_t flags, std::uint32_t stream,
                        std::size_t length = 0) {
  FrameBytes bytes{static_cast<std::uint8_t>(length >> 16U),
                   static_cast<std::uint8_t>(length >> 8U), static_cast<std::uint8_t>(length), type,
                   flags};
  for (const unsigned shift : {24U, 16U, 8U, 0U})
    bytes.push_back(static_cast<std::uint8_t>(stream >> shift));
  bytes.resize(bytes.size() + length, 'x');
  return bytes;
}

inline FrameBytes joined(const std::vector<FrameBytes>& parts) {
  FrameBytes all;
  for (const FrameBytes& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace railgauge::relay
