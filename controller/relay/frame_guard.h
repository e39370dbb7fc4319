// The HTTP/2 frames of one connection (RFC 9113), looked at before gRPC sees them. gRPC 1.51 keeps
// streams beyond its limit until its SETTINGS are acknowledged, and header blocks without an end,
// so a client that breaks the rules could take any amount of memory. Pure: no socket, no clock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

#include "kernels/core/base/result.h"

namespace railgauge::relay {

// Follows the frames of both directions by their headers, and gRPC's messages in the client's DATA
// by their lengths; HPACK and the content are gRPC's affair. Not thread safe.
class FrameGuard {
 public:
  // Streams that a client may have open. gRPC allows 32 by its SETTINGS; a client that has not read
  // them yet may have more.
  static constexpr std::size_t kMostOpenStreams = 128;
  // A header block: HEADERS and its CONTINUATION frames. gRPC takes 8 KiB of metadata.
  static constexpr std::size_t kMostHeaderBytes = std::size_t{16} * 1'024;
  // A frame that carries neither headers nor data.
  static constexpr std::size_t kMostControlBytes = 1'024;
  // Work of a frame, of one that carries no data besides, and of a new stream besides. The weights
  // are chosen, not measured: Allowance is sized by calls.
  static constexpr std::uint32_t kFrameWork = 1;
  static constexpr std::uint32_t kControlWork = 10;
  static constexpr std::uint32_t kStreamWork = 100;

  // Looks at the next bytes of the client and returns the work that they make. kInvalidArgument: a
  // frame that no client sends. kResourceExhausted: beyond a bound. After an error the connection
  // has to end.
  Result<std::uint32_t> from_client(std::span<const std::uint8_t> bytes);
  // Looks at the next bytes of gRPC, which end streams.
  void from_server(std::span<const std::uint8_t> bytes);

  // The client has sent the whole connection preface.
  [[nodiscard]] bool has_preface() const { return preface_bytes_ == kPrefaceBytes; }
  [[nodiscard]] std::size_t open_streams() const { return streams_.size(); }
  // Bytes of messages whose end has not come: gRPC keeps them, before our code sees the call.
  [[nodiscard]] std::size_t unfinished_bytes() const { return unfinished_bytes_; }

 private:
  static constexpr std::size_t kPrefaceBytes = 24;
  static constexpr std::size_t kHeaderBytes = 9;
  struct Frame {
    std::uint32_t length = 0;
    std::uint8_t type = 0;
    std::uint8_t flags = 0;
    std::uint32_t stream = 0;
  };
  // The frame that a direction is in.
  struct Position {
    std::array<std::uint8_t, kHeaderBytes> header{};
    std::size_t header_bytes = 0;    // of the next frame, that have come
    std::uint32_t payload_left = 0;  // of the present frame
  };
  // A message of gRPC in the DATA of a stream: a byte of flags, four of its length, the content.
  struct Stream {
    std::uint8_t ended = 0;         // the halves that have ended
    std::uint8_t prefix_bytes = 0;  // of the next message, that have come
    std::uint32_t length = 0;       // of the present one
    std::uint32_t got = 0;          // of its content
  };
  // Calls `note` with each frame that begins in `bytes`, until it returns false, and `content` with
  // the bytes of frames.
  template <class Note, class Content>
  static void walk(Position& at, std::span<const std::uint8_t> bytes, const Note& note,
                   const Content& content);
  static Frame parse(const std::array<std::uint8_t, kHeaderBytes>& header);
  Result<std::uint32_t> take(const Frame& frame);
  Result<std::uint32_t> take_headers(const Frame& frame);
  void take_data(std::span<const std::uint8_t> bytes);
  void take_message(Stream& stream, std::span<const std::uint8_t> bytes);
  void end_half(std::uint32_t stream, std::uint8_t half);
  void end_stream(std::uint32_t stream);

  std::size_t preface_bytes_ = 0;
  Position client_;
  Position server_;
  std::map<std::uint32_t, Stream> streams_;  // open ones
  std::size_t unfinished_bytes_ = 0;
  // The client's present DATA frame.
  std::uint32_t data_stream_ = 0;   // 0: the present frame is no DATA
  std::uint32_t data_left_ = 0;     // without the padding
  bool has_pad_length_ = false;     // its first byte is still to come
  std::uint32_t last_stream_ = 0;   // the largest that the client opened
  std::uint32_t block_stream_ = 0;  // whose header block has no end yet; 0: none
  std::size_t block_bytes_ = 0;
};

}  // namespace railgauge::relay
