// A learning Ethernet switch over unix datagram sockets. Port N owns two paths: its guest sends to
// DIR/sw.N and receives at DIR/n.N. A datagram carries a frame of any MTU, and nothing joins or
// delays frames as a stream would. A guest that is dead or stopped costs only its own bounded
// queue.
#pragma once

#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernels/core/base/handle.h"
#include "kernels/core/base/result.h"

namespace railgauge::vfabric {

struct FileTraits {
  using Type = int;
  static Type empty() { return -1; }
  static void release(Type file) { ::close(file); }
};
using File = Handle<FileTraits>;

inline constexpr std::size_t kMaxPorts = 64;
inline constexpr std::size_t kMaxFrameBytes = 65536 + 64;
inline constexpr std::size_t kMaxQueuedFrames =
    1024;                                           // a port; the newest frame is dropped beyond it
inline constexpr std::size_t kMaxAddresses = 4096;  // learned; beyond it all are learned anew

class Switch {
 public:
  static Result<Switch> open(const std::string& directory, std::size_t ports);

  // Forwards what is there to forward, waiting at most `timeout_ms` for the first frame. A step
  // without one tries every queue again.
  Status step(int timeout_ms);

  [[nodiscard]] std::uint64_t dropped_frames() const { return dropped_frames_; }

 private:
  using Frame = std::vector<std::byte>;
  struct Port {
    std::string guest_path;
    File inbound;   // bound to sw.N; anybody in the state folder may send
    File outbound;  // connected to n.N, or empty while no guest is there
    std::deque<Frame> queue;
  };

  Status add_port(const std::string& directory, std::size_t number);
  void receive(std::size_t port);
  void forward(std::size_t from, std::size_t bytes);
  void send(std::size_t port, std::size_t bytes);
  void flush(std::size_t port);
  bool connect(Port& port, std::size_t number);
  void disconnect(Port& port);
  void watch_writable(std::size_t port, bool writable);

  File epoll_;
  std::vector<Port> ports_;
  std::unordered_map<std::uint64_t, std::size_t> port_of_;
  std::array<std::byte, kMaxFrameBytes> frame_{};
  std::uint64_t dropped_frames_ = 0;
};

}  // namespace railgauge::vfabric
