#include "deploy/vfabric/switch.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace railgauge::vfabric {
namespace {

constexpr int kMaxEvents = 32;
constexpr int kFramesPerTurn = 64;  // of one port, so that a flood does not starve the others
constexpr std::size_t kAddressBytes = 6;
constexpr std::size_t kHeaderBytes = 14;
constexpr std::uint64_t kWritableFlag = std::uint64_t{1} << 32;

Error system_error(const std::string& act) {
  return {Code::kUnavailable, act + ": " + std::strerror(errno)};
}

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return invalid(path + ": too long for a socket, use a shorter folder");
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

File open_socket() { return File{::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)}; }

std::uint64_t address_at(const std::byte* bytes) {
  std::uint64_t address = 0;
  std::memcpy(&address, bytes, kAddressBytes);
  return address;
}

bool is_group(const std::byte* bytes) { return (bytes[0] & std::byte{1}) != std::byte{0}; }

bool would_block() { return errno == EAGAIN || errno == ENOBUFS; }

}  // namespace

Result<Switch> Switch::open(const std::string& directory, std::size_t ports) {
  if (ports == 0 || ports > kMaxPorts) {
    return invalid("ports: give 1 to " + std::to_string(kMaxPorts));
  }
  Switch made;
  made.epoll_ = File{::epoll_create1(EPOLL_CLOEXEC)};
  if (!made.epoll_) return tl::unexpected(system_error("epoll_create1"));
  for (std::size_t number = 0; number < ports; ++number) {
    RG_TRY_OK(made.add_port(directory, number));
  }
  return made;
}

Status Switch::add_port(const std::string& directory, std::size_t number) {
  const std::string name = std::to_string(number + 1);
  const std::string path = directory + "/sw." + name;
  Port port{directory + "/n." + name, open_socket(), File{}, {}};
  const sockaddr_un address = RG_TRY(address_of(path));
  RG_TRY_OK(address_of(port.guest_path));
  ::unlink(path.c_str());
  if (!port.inbound || ::bind(port.inbound.get(), reinterpret_cast<const sockaddr*>(&address),
                              sizeof(address)) != 0) {
    return tl::unexpected(system_error(path + ": bind"));
  }
  epoll_event event{EPOLLIN, {.u64 = number}};
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, port.inbound.get(), &event) != 0) {
    return tl::unexpected(system_error(path + ": epoll_ctl"));
  }
  ports_.push_back(std::move(port));
  return {};
}

Status Switch::step(int timeout_ms) {
  std::array<epoll_event, kMaxEvents> events;
  const int count = ::epoll_wait(epoll_.get(), events.data(), kMaxEvents, timeout_ms);
  if (count < 0 && errno != EINTR) return tl::unexpected(system_error("epoll_wait"));
  if (count <= 0) {
    for (std::size_t port = 0; port < ports_.size(); ++port) {
      if (!ports_[port].queue.empty()) flush(port);
    }
  }
  for (int i = 0; i < count; ++i) {
    const std::uint64_t tag = events[i].data.u64;
    const auto port = static_cast<std::size_t>(tag & ~kWritableFlag);
    if ((tag & kWritableFlag) != 0) {
      flush(port);
    } else {
      receive(port);
    }
  }
  return {};
}

void Switch::receive(std::size_t port) {
  for (int i = 0; i < kFramesPerTurn; ++i) {
    const ssize_t bytes = ::recv(ports_[port].inbound.get(), frame_.data(), frame_.size(), 0);
    if (bytes < 0) return;
    if (static_cast<std::size_t>(bytes) >= kHeaderBytes) {
      forward(port, static_cast<std::size_t>(bytes));
    }
  }
}

void Switch::forward(std::size_t from, std::size_t bytes) {
  const std::byte* target = frame_.data();
  const std::byte* source = frame_.data() + kAddressBytes;
  if (!is_group(source)) {
    if (port_of_.size() >= kMaxAddresses) port_of_.clear();
    port_of_[address_at(source)] = from;
  }
  const auto known = is_group(target) ? port_of_.end() : port_of_.find(address_at(target));
  if (known != port_of_.end()) {
    if (known->second != from) send(known->second, bytes);
    return;
  }
  for (std::size_t port = 0; port < ports_.size(); ++port) {
    if (port != from) send(port, bytes);
  }
}

void Switch::send(std::size_t number, std::size_t bytes) {
  Port& port = ports_[number];
  // epoll's wake-up may be lost, so each frame tries the queue before it.
  if (!port.queue.empty()) flush(number);
  if (!port.queue.empty()) {  // behind what waits already, or the order would change
    if (port.queue.size() >= kMaxQueuedFrames) {
      ++dropped_frames_;
      return;
    }
    port.queue.emplace_back(frame_.data(), frame_.data() + bytes);
    return;
  }
  // Twice: a guest that was started again has a new socket under the old path.
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (!connect(port, number)) break;
    if (::send(port.outbound.get(), frame_.data(), bytes, MSG_NOSIGNAL) >= 0) return;
    if (would_block()) {
      port.queue.emplace_back(frame_.data(), frame_.data() + bytes);
      watch_writable(number, true);
      return;
    }
    disconnect(port);
  }
  ++dropped_frames_;
}

void Switch::flush(std::size_t number) {
  Port& port = ports_[number];
  while (!port.queue.empty()) {
    const Frame& frame = port.queue.front();
    if (::send(port.outbound.get(), frame.data(), frame.size(), MSG_NOSIGNAL) < 0) {
      if (would_block()) return;
      disconnect(port);
      return;
    }
    port.queue.pop_front();
  }
  watch_writable(number, false);
}

bool Switch::connect(Port& port, std::size_t number) {
  if (port.outbound) return true;
  const Result<sockaddr_un> address = address_of(port.guest_path);
  File made = open_socket();
  if (!address || !made ||
      ::connect(made.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof(*address)) != 0) {
    return false;
  }
  epoll_event event{0, {.u64 = number | kWritableFlag}};
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, made.get(), &event) != 0) return false;
  port.outbound = std::move(made);
  return true;
}

// The guest is gone: what was queued for it goes too, as on a cable that was pulled.
void Switch::disconnect(Port& port) {
  dropped_frames_ += port.queue.size();
  port.queue.clear();
  port.outbound.reset();
}

void Switch::watch_writable(std::size_t number, bool writable) {
  epoll_event event{writable ? std::uint32_t{EPOLLOUT} : 0U, {.u64 = number | kWritableFlag}};
  const int outcome =
      ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, ports_[number].outbound.get(), &event);
  RG_CHECK(outcome == 0);
}

}  // namespace railgauge::vfabric
