// Frames of protobuf's delimited format, and writing with a deadline.
#include "kernels/core/group/framing.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstring>

#include <fmt/format.h>

#include "kernels/core/base/clock.h"

namespace railgauge {
namespace {
// Consumed bytes after which the buffer is moved down.
constexpr std::size_t kCompactAt = 1U << 16U;
// Bytes of a varint that suffice for kMaxFrameBytes.
constexpr int kMaxVarintBytes = 4;
// The longest poll in ms, so that the conversion to int never overflows.
constexpr double kLongestMs = 3600e3;
}  // namespace

// Seven bits of the length in each byte, the lowest first; the top bit marks that more follow.
std::string frame(const google::protobuf::MessageLite& message) {
  const std::string body = message.SerializeAsString();
  RG_CHECK(body.size() <= kMaxFrameBytes);
  std::string out;
  out.reserve(body.size() + kMaxVarintBytes);
  auto left = static_cast<std::uint32_t>(body.size());
  for (; left >= 0x80U; left >>= 7U) out.push_back(static_cast<char>((left & 0x7fU) | 0x80U));
  out.push_back(static_cast<char>(left));
  return out += body;
}

// Leaves the buffer untouched until a whole frame is there.
Result<std::optional<std::string>> FrameReader::next() {
  std::uint32_t length = 0;
  int used = 0;
  for (;; ++used) {
    if (begin_ + static_cast<std::size_t>(used) >= buffer_.size()) return std::nullopt;
    if (used == kMaxVarintBytes) return fail(Code::kDataLoss, "frame length is no varint");
    const auto byte = static_cast<std::uint8_t>(buffer_[begin_ + static_cast<std::size_t>(used)]);
    length |= (byte & 0x7fU) << (7U * static_cast<unsigned>(used));
    if ((byte & 0x80U) == 0) break;
  }
  if (length > kMaxFrameBytes)
    return fail(Code::kDataLoss, "frame of {} bytes; at most {} are allowed", length,
                kMaxFrameBytes);
  const std::size_t body = begin_ + static_cast<std::size_t>(used) + 1;
  if (buffer_.size() - body < length) return std::nullopt;
  std::string out = buffer_.substr(body, length);
  begin_ = body + length;
  if (begin_ > kCompactAt || begin_ == buffer_.size()) {
    buffer_.erase(0, begin_);
    begin_ = 0;
  }
  return out;
}

// Polls before each write, since a blocking pipe knows no deadline.
Status write_all(int fd, std::string_view bytes, double timeout_seconds) {
  const double end_ns = monotonic_now_ns() + timeout_seconds * 1e9;
  // A blocking pipe that polls as writable takes PIPE_BUF bytes at once; more could block for ever.
  const bool blocking = (::fcntl(fd, F_GETFL) & O_NONBLOCK) == 0;
  const std::size_t most = blocking ? PIPE_BUF : kMaxFrameBytes;
  while (!bytes.empty()) {
    const double left_ms = std::max(0.0, (end_ns - monotonic_now_ns()) / 1e6);
    pollfd wait{fd, POLLOUT, 0};
    const int ready = ::poll(&wait, 1, static_cast<int>(std::ceil(std::min(left_ms, kLongestMs))));
    if (ready > 0) {
      const ssize_t written = ::write(fd, bytes.data(), std::min(most, bytes.size()));
      if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
      if (written < 0 && errno != EINTR && errno != EAGAIN)
        return fail(Code::kUnavailable, "write to fd {}: {}", fd, std::strerror(errno));
    } else if (left_ms <= 0) {
      return fail(Code::kDeadlineExceeded, "write to fd {}: reader is stuck", fd);
    }
  }
  return {};
}

}  // namespace railgauge
