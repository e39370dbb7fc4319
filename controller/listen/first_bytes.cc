#include "controller/listen/first_bytes.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace railgauge {
namespace {

constexpr std::size_t kRecordHeaderBytes = 5;     // type, version, length
constexpr std::size_t kHandshakeHeaderBytes = 4;  // type, length
constexpr std::size_t kMostRecordBytes = 1U << 14U;
constexpr std::uint8_t kHandshakeRecord = 22;
constexpr std::uint8_t kTlsMajorVersion = 3;
constexpr std::uint8_t kClientHello = 1;
constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

// Reads the handshake's header as its bytes come in, perhaps in several records.
class HelloLength {
 public:
  // Takes the handshake bytes of one record, as far as they have come.
  void take(std::span<const std::uint8_t> payload) {
    const std::size_t headers = std::min(payload.size(), kHandshakeHeaderBytes - header_bytes_);
    std::ranges::copy(payload.first(headers), header_.begin() + header_bytes_);
    header_bytes_ += headers;
    bytes_ += payload.size();
  }
  [[nodiscard]] bool is_foreign() const {
    return (header_bytes_ > 0 && header_[0] != kClientHello) ||
           (header_bytes_ == kHandshakeHeaderBytes && needed() > kMostFirstBytes);
  }
  [[nodiscard]] bool is_whole() const {
    return header_bytes_ == kHandshakeHeaderBytes && bytes_ >= needed();
  }

 private:
  [[nodiscard]] std::size_t needed() const {
    return kHandshakeHeaderBytes + (static_cast<std::size_t>(header_[1]) << 16U) +
           (static_cast<std::size_t>(header_[2]) << 8U) + header_[3];
  }

  std::array<std::uint8_t, kHandshakeHeaderBytes> header_{};
  std::size_t header_bytes_ = 0;
  std::size_t bytes_ = 0;
};

// Reports whether the bytes of a record's header that have come are those of a handshake.
bool may_be_record(std::span<const std::uint8_t> header) {
  if (!header.empty() && header[0] != kHandshakeRecord) return false;
  if (header.size() > 1 && header[1] != kTlsMajorVersion) return false;
  if (header.size() < kRecordHeaderBytes) return true;
  const std::size_t length = (static_cast<std::size_t>(header[3]) << 8U) + header[4];
  return length > 0 && length <= kMostRecordBytes;
}

}  // namespace

FirstBytes look_at_client_hello(std::span<const std::uint8_t> bytes) {
  const bool is_full = bytes.size() >= kMostFirstBytes;
  HelloLength hello;
  while (true) {
    const auto header = bytes.first(std::min(bytes.size(), kRecordHeaderBytes));
    if (!may_be_record(header)) return FirstBytes::kForeign;
    if (header.size() < kRecordHeaderBytes) break;
    const std::size_t length = (static_cast<std::size_t>(header[3]) << 8U) + header[4];
    bytes = bytes.subspan(kRecordHeaderBytes);
    const std::size_t present = std::min(bytes.size(), length);
    hello.take(bytes.first(present));
    if (hello.is_foreign()) return FirstBytes::kForeign;
    if (hello.is_whole()) return FirstBytes::kComplete;
    if (present < length) break;
    bytes = bytes.subspan(present);
  }
  return is_full ? FirstBytes::kForeign : FirstBytes::kIncomplete;
}

FirstBytes look_at_preface(std::span<const std::uint8_t> bytes) {
  const std::size_t present = std::min(bytes.size(), kPreface.size());
  const bool is_same = std::equal(
      bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(present), kPreface.begin(),
      [](std::uint8_t byte, char c) { return byte == static_cast<std::uint8_t>(c); });
  if (!is_same) return FirstBytes::kForeign;
  return present == kPreface.size() ? FirstBytes::kComplete : FirstBytes::kIncomplete;
}

}  // namespace railgauge
