// Length-delimited messages on a pipe: a varint length, then the bytes (protobuf's delimited
// format).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <google/protobuf/message_lite.h>

#include "kernels/core/base/result.h"

namespace railgauge {

// The largest message: a point with 10^6 raw samples fits.
inline constexpr std::size_t kMaxFrameBytes = 8U << 20U;

// Returns the message with its length in front. CHECKs that the message is below kMaxFrameBytes.
std::string frame(const google::protobuf::MessageLite& message);

// Collects bytes in any portions and returns whole frames. Not thread safe.
class FrameReader {
 public:
  // Appends bytes; the caller bounds the size of each portion.
  void feed(std::string_view bytes) { buffer_.append(bytes); }
  // Returns the next frame's bytes, or nullopt when more bytes are needed. kDataLoss for an invalid
  // length (above kMaxFrameBytes, or no varint): the rest of the stream is garbage.
  Result<std::optional<std::string>> next();
  // Returns the number of bytes that do not form a whole frame yet.
  [[nodiscard]] std::size_t pending() const { return buffer_.size() - begin_; }

 private:
  std::string buffer_;
  std::size_t begin_ = 0;
};

// Writes all bytes to a blocking or non-blocking descriptor. kUnavailable when the reader is gone
// (EPIPE; SIGPIPE must be ignored), kDeadlineExceeded after timeout_seconds.
Status write_all(int fd, std::string_view bytes, double timeout_seconds);

}  // namespace railgauge
