// Ways to give a message to a TCP socket other than by a copying send(2): with MSG_ZEROCOPY, by
// io_uring, and by io_uring without a copy. With a zero-copy way the kernel reads the message's
// memory until it says that it has done so: the memory keeps its content until settle() says 0.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge::net {

enum class Sending : std::uint8_t { kCopy, kZeroCopy, kUring, kUringZeroCopy };
// Return the words of the parameter `send`, the first of which is the default, and read one.
std::vector<std::string> sending_names();
Sending sending_of(std::string_view name);

// The account of a zero-copy way: the kernel may copy all the same, as it does on the loopback
// interface and where an interface cannot gather.
struct ZeroCopyCount {
  std::uint64_t sends = 0;   // that are over
  std::uint64_t copied = 0;  // of those, by the kernel
};

// Sends on one socket, for one thread at a time.
class Outlet {
 public:
  Outlet() = default;
  Outlet(const Outlet&) = delete;
  Outlet& operator=(const Outlet&) = delete;
  virtual ~Outlet() = default;

  // Opens `way`, not kCopy, for a socket that outlives it. kUnimplemented or kFailedPrecondition
  // where this kernel, or a limit, has no such way; `who` opens the message.
  static Result<std::unique_ptr<Outlet>> open(Sending way, int socket, const std::string& who);

  // As send(2): returns the bytes that the kernel took, or -1 with errno. EAGAIN: nothing moved for
  // some 20 ms; call again with the same bytes.
  virtual ssize_t send(std::span<const std::byte> bytes) = 0;
  // Returns the sends whose memory the kernel may still read, after a wait of at most 20 ms when
  // there are any; -1 with errno.
  virtual ssize_t settle() = 0;
  [[nodiscard]] virtual ZeroCopyCount count() const { return {}; }
  // Whether the last send() moved nothing because the kernel may lock no more memory. The limit is
  // the user's, over all sockets, so that this one may have nothing outstanding.
  [[nodiscard]] bool lacks_memory() const { return lacks_memory_; }

 protected:
  bool lacks_memory_ = false;
};

}  // namespace railgauge::net
