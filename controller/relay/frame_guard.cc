#include "controller/relay/frame_guard.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include <fmt/format.h>

namespace railgauge::relay {
namespace {

constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";  // RFC 9113, 3.4

// RFC 9113, 6.
enum Type : std::uint8_t {
  kData = 0,
  kHeaders = 1,
  kReset = 3,
  kPushPromise = 5,
  kContinuation = 9,
};
constexpr std::uint8_t kEndStream = 0x1;
constexpr std::uint8_t kEndHeaders = 0x4;

constexpr std::uint8_t kClientHalf = 1;
constexpr std::uint8_t kServerHalf = 2;
constexpr std::uint8_t kBothHalves = kClientHalf | kServerHalf;

}  // namespace

FrameGuard::Frame FrameGuard::parse(const std::array<std::uint8_t, kHeaderBytes>& header) {
  const auto byte = [&header](std::size_t at) { return static_cast<std::uint32_t>(header.at(at)); };
  constexpr std::uint32_t kStreamBits = 0x7fffffff;  // the first bit is reserved
  return {
      .length = (byte(0) << 16U) | (byte(1) << 8U) | byte(2),
      .type = header[3],
      .flags = header[4],
      .stream = ((byte(5) << 24U) | (byte(6) << 16U) | (byte(7) << 8U) | byte(8)) & kStreamBits};
}

template <class Note>
void FrameGuard::walk(Position& at, std::span<const std::uint8_t> bytes, const Note& note) {
  while (!bytes.empty()) {
    const std::size_t skipped = std::min<std::size_t>(at.payload_left, bytes.size());
    at.payload_left -= static_cast<std::uint32_t>(skipped);
    bytes = bytes.subspan(skipped);
    const std::size_t taken = std::min(kHeaderBytes - at.header_bytes, bytes.size());
    std::copy_n(bytes.begin(), taken,
                at.header.begin() + static_cast<std::ptrdiff_t>(at.header_bytes));
    at.header_bytes += taken;
    bytes = bytes.subspan(taken);
    if (at.header_bytes < kHeaderBytes) return;
    at.header_bytes = 0;
    const Frame frame = parse(at.header);
    at.payload_left = frame.length;
    if (!note(frame)) return;
  }
}

Result<std::uint32_t> FrameGuard::from_client(std::span<const std::uint8_t> bytes) {
  while (preface_bytes_ < kPrefaceBytes && !bytes.empty()) {
    if (bytes[0] != static_cast<std::uint8_t>(kPreface[preface_bytes_]))
      return fail(Code::kInvalidArgument, "no HTTP/2 preface");
    ++preface_bytes_;
    bytes = bytes.subspan(1);
  }
  std::uint32_t work = 0;
  Status status;
  walk(client_, bytes, [&](const Frame& frame) {
    const Result<std::uint32_t> one = take(frame);
    if (one)
      work += *one;
    else
      status = tl::unexpected(one.error());
    return static_cast<bool>(one);
  });
  RG_TRY_OK(status);
  return work;
}

Result<std::uint32_t> FrameGuard::take(const Frame& frame) {
  if (frame.type == kHeaders || frame.type == kContinuation) return take_headers(frame);
  if (block_stream_ != 0)
    return fail(Code::kInvalidArgument,
                fmt::format("a frame of type {} inside a header block", frame.type));
  if (frame.type == kPushPromise) return fail(Code::kInvalidArgument, "PUSH_PROMISE of a client");
  if (frame.type == kData) {
    if ((frame.flags & kEndStream) != 0) end_half(frame.stream, kClientHalf);
    return frame.length > 0 ? kFrameWork : kFrameWork + kControlWork;
  }
  if (frame.length > kMostControlBytes)
    return fail(Code::kResourceExhausted,
                fmt::format("a frame of type {} with {} bytes, at most {} are allowed", frame.type,
                            frame.length, kMostControlBytes));
  if (frame.type == kReset) streams_.erase(frame.stream);
  return kFrameWork + kControlWork;
}

Result<std::uint32_t> FrameGuard::take_headers(const Frame& frame) {
  std::uint32_t work = kFrameWork + kControlWork;
  if (frame.type == kContinuation) {
    if (block_stream_ == 0 || frame.stream != block_stream_)
      return fail(Code::kInvalidArgument, "CONTINUATION without a header block");
  } else {
    if (block_stream_ != 0) return fail(Code::kInvalidArgument, "HEADERS inside a header block");
    if (frame.stream % 2 == 0)
      return fail(Code::kInvalidArgument,
                  fmt::format("HEADERS of stream {}, which is no client's", frame.stream));
    block_bytes_ = 0;
    if (frame.stream > last_stream_) {
      last_stream_ = frame.stream;
      streams_[frame.stream] = 0;
      work += kStreamWork;
    }
    if ((frame.flags & kEndStream) != 0) end_half(frame.stream, kClientHalf);
  }
  block_bytes_ += frame.length;
  block_stream_ = (frame.flags & kEndHeaders) != 0 ? 0 : frame.stream;
  if (block_bytes_ > kMostHeaderBytes)
    return fail(Code::kResourceExhausted,
                fmt::format("headers of {} bytes or more, at most {} are allowed", block_bytes_,
                            kMostHeaderBytes));
  if (streams_.size() > kMostOpenStreams)
    return fail(Code::kResourceExhausted, fmt::format("{} open streams, at most {} are allowed",
                                                      streams_.size(), kMostOpenStreams));
  return work;
}

void FrameGuard::from_server(std::span<const std::uint8_t> bytes) {
  walk(server_, bytes, [this](const Frame& frame) {
    if (frame.type == kReset) streams_.erase(frame.stream);
    if ((frame.type == kData || frame.type == kHeaders) && (frame.flags & kEndStream) != 0)
      end_half(frame.stream, kServerHalf);
    return true;
  });
}

void FrameGuard::end_half(std::uint32_t stream, std::uint8_t half) {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return;
  found->second |= half;
  if (found->second == kBothHalves) streams_.erase(found);
}

}  // namespace railgauge::relay
