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

// The message with its length in front. CHECKs that it is below kMaxFrameBytes.
std::string frame(const google::protobuf::MessageLite& message);

// Takes bytes as they come and returns whole frames. Not thread safe.
class FrameReader {
 public:
  // Appends bytes; the caller bounds what it reads at once.
  void feed(std::string_view bytes) { buffer_.append(bytes); }
  // The next frame's bytes; nullopt when more bytes are needed. kDataLoss when the length cannot be
  // one (more than kMaxFrameBytes, or no varint): the stream is garbage from there on.
  Result<std::optional<std::string>> next();
  // Bytes that belong to no whole frame yet.
  [[nodiscard]] std::size_t pending() const { return buffer_.size() - begin_; }

 private:
  std::string buffer_;
  std::size_t begin_ = 0;
};

// Writes all bytes to a blocking or non-blocking descriptor. kUnavailable when the reader is gone
// (EPIPE; SIGPIPE must be ignored), kDeadlineExceeded after timeout_seconds.
Status write_all(int fd, std::string_view bytes, double timeout_seconds);

}  // namespace railgauge
