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
constexpr std::uint8_t kPadded = 0x8;
constexpr std::uint8_t kEndHeaders = 0x4;

constexpr std::uint8_t kClientHalf = 1;
constexpr std::uint8_t kServerHalf = 2;
constexpr std::uint8_t kBothHalves = kClientHalf | kServerHalf;

// Header bytes that cost as much as a frame: each may stand for a field of the table.
constexpr std::uint32_t kHeaderBytesOfWork = 16;
constexpr std::uint32_t kDataBytesOfWork = 4'096;
constexpr std::uint8_t kPrefixBytes = 5;

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

template <class Note, class Content>
void FrameGuard::walk(Position& at, std::span<const std::uint8_t> bytes, const Note& note,
                      const Content& content) {
  while (!bytes.empty()) {
    const std::size_t skipped = std::min<std::size_t>(at.payload_left, bytes.size());
    at.payload_left -= static_cast<std::uint32_t>(skipped);
    if (skipped > 0) content(bytes.first(skipped));
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
  const auto note = [&](const Frame& frame) {
    const Result<std::uint32_t> one = take(frame);
    if (one)
      work += *one;
    else
      status = tl::unexpected(one.error());
    return static_cast<bool>(one);
  };
  walk(client_, bytes, note, [this](std::span<const std::uint8_t> content) { take_data(content); });
  RG_TRY_OK(status);
  return work;
}

Result<std::uint32_t> FrameGuard::take(const Frame& frame) {
  data_stream_ = 0;
  if (frame.type == kHeaders || frame.type == kContinuation) return take_headers(frame);
  if (block_stream_ != 0)
    return fail(Code::kInvalidArgument,
                fmt::format("a frame of type {} inside a header block", frame.type));
  if (frame.type == kPushPromise) return fail(Code::kInvalidArgument, "PUSH_PROMISE of a client");
  if (frame.type == kData) {
    data_stream_ = frame.stream;
    data_left_ = frame.length;
    has_pad_length_ = (frame.flags & kPadded) != 0;
    if ((frame.flags & kEndStream) != 0) end_half(frame.stream, kClientHalf);
    if (frame.length == 0) return kFrameWork + kControlWork;
    return kFrameWork + frame.length / kDataBytesOfWork;
  }
  if (frame.length > kMostControlBytes)
    return fail(Code::kResourceExhausted,
                fmt::format("a frame of type {} with {} bytes, at most {} are allowed", frame.type,
                            frame.length, kMostControlBytes));
  if (frame.type == kReset) end_stream(frame.stream);
  return kFrameWork + kControlWork;
}

// The bytes of the client's present frame. A padding as long as the frame is gRPC's to refuse.
void FrameGuard::take_data(std::span<const std::uint8_t> bytes) {
  if (data_stream_ == 0) return;
  if (has_pad_length_) {
    has_pad_length_ = false;
    const std::uint32_t padding = 1U + bytes[0];
    data_left_ -= std::min(data_left_, padding);
    bytes = bytes.subspan(1);
  }
  const auto found = streams_.find(data_stream_);
  if (found == streams_.end()) return;
  bytes = bytes.first(std::min<std::size_t>(bytes.size(), data_left_));
  data_left_ -= static_cast<std::uint32_t>(bytes.size());
  take_message(found->second, bytes);
}

void FrameGuard::take_message(Stream& stream, std::span<const std::uint8_t> bytes) {
  while (!bytes.empty()) {
    if (stream.prefix_bytes < kPrefixBytes) {
      if (stream.prefix_bytes++ > 0) stream.length = (stream.length << 8U) | bytes[0];
      bytes = bytes.subspan(1);
    }
    if (stream.prefix_bytes < kPrefixBytes) continue;
    const std::size_t more = std::min<std::size_t>(stream.length - stream.got, bytes.size());
    stream.got += static_cast<std::uint32_t>(more);
    unfinished_bytes_ += more;
    bytes = bytes.subspan(more);
    if (stream.got < stream.length) continue;
    unfinished_bytes_ -= stream.got;
    stream = {.ended = stream.ended};
  }
}

Result<std::uint32_t> FrameGuard::take_headers(const Frame& frame) {
  std::uint32_t work = kFrameWork + kControlWork + frame.length / kHeaderBytesOfWork;
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
      streams_[frame.stream] = {};
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
  const auto note = [this](const Frame& frame) {
    if (frame.type == kReset) end_stream(frame.stream);
    if ((frame.type == kData || frame.type == kHeaders) && (frame.flags & kEndStream) != 0)
      end_half(frame.stream, kServerHalf);
    return true;
  };
  walk(server_, bytes, note, [](std::span<const std::uint8_t>) {});
}

void FrameGuard::end_half(std::uint32_t stream, std::uint8_t half) {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return;
  found->second.ended |= half;
  if (found->second.ended == kBothHalves) end_stream(stream);
}

void FrameGuard::end_stream(std::uint32_t stream) {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return;
  unfinished_bytes_ -= found->second.got;
  streams_.erase(found);
}

}  // namespace railgauge::relay
