#include "kernels/cuda/descriptor_post.h"

#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <fmt/format.h>

#include "kernels/core/base/clock.h"
#include "kernels/core/text/text.h"

namespace railgauge::cuda {
namespace {

constexpr const char* kWho = "another process's memory";

// An abstract address: a zero in front, and no file. Its length is part of it.
socklen_t address_of_name(const std::string& name, sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  const std::size_t bytes = std::min(name.size(), sizeof address.sun_path - 1);
  std::memcpy(address.sun_path + 1, name.data(), bytes);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + bytes);
}

// Waits for a socket to be ready. False at the time, or on failure.
bool wait_ready(int socket, double until_monotonic_ns) {
  while (true) {
    const double left_ms = (until_monotonic_ns - monotonic_now_ns()) / 1e6;
    if (left_ms <= 0) return false;
    pollfd wanted{.fd = socket, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&wanted, 1, static_cast<int>(std::min(left_ms + 1, 1e6)));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

// The kernel says whose process is at the other end.
bool is_own_user(int socket) {
  ucred peer{};
  socklen_t length = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
         peer.uid == ::geteuid();
}

// The message is one byte; the descriptor travels beside it.
struct Parcel {
  char byte = 0;
  iovec part{.iov_base = &byte, .iov_len = 1};
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int))> room{};
  msghdr header{.msg_name = nullptr,
                .msg_namelen = 0,
                .msg_iov = &part,
                .msg_iovlen = 1,
                .msg_control = room.data(),
                .msg_controllen = room.size(),
                .msg_flags = 0};
};

}  // namespace

Result<DescriptorPost> DescriptorPost::open() {
  std::array<std::uint64_t, 2> secret{};
  if (::getrandom(secret.data(), sizeof secret, 0) != static_cast<ssize_t>(sizeof secret))
    return fail(Code::kResourceExhausted, "{}: make a name: {}", kWho, errno_words(errno));
  DescriptorPost post;
  post.name_ = fmt::format("railgauge-{:016x}{:016x}", secret[0], secret[1]);
  post.socket_ = Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  const socklen_t length = address_of_name(post.name_, address);
  if (!post.socket_ ||
      ::bind(post.socket_.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      ::listen(post.socket_.get(), 4) != 0)
    return fail(Code::kResourceExhausted, "{}: open a socket to give it: {}", kWho,
                errno_words(errno));
  return post;
}

// One caller is enough: there is one other rank. A stranger of another user is dropped unheard, and
// the wait continues.
Status DescriptorPost::give(const Fd& descriptor, double until_monotonic_ns) const {
  while (wait_ready(socket_.get(), until_monotonic_ns)) {
    const Fd caller(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!caller || !is_own_user(caller.get())) continue;
    Parcel parcel;
    cmsghdr* beside = CMSG_FIRSTHDR(&parcel.header);
    beside->cmsg_level = SOL_SOCKET;
    beside->cmsg_type = SCM_RIGHTS;
    beside->cmsg_len = CMSG_LEN(sizeof(int));
    const int number = descriptor.get();
    std::memcpy(CMSG_DATA(beside), &number, sizeof number);
    if (::sendmsg(caller.get(), &parcel.header, MSG_NOSIGNAL) != 1)
      return fail(Code::kUnavailable, "{}: give it: {}", kWho, errno_words(errno));
    return {};
  }
  return fail(Code::kDeadlineExceeded, "{}: give it: nobody came for it", kWho);
}

// The byte that comes along has no meaning; a stream needs one to carry the descriptor.
Result<Fd> fetch_descriptor(const std::string& name, double until_monotonic_ns) {
  const Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  const socklen_t length = address_of_name(name, address);
  if (!socket || ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0)
    return fail(Code::kUnavailable,
                "{}: fetch it: {}; both ranks must be in one network namespace of one host", kWho,
                errno_words(errno));
  Parcel parcel;
  if (!wait_ready(socket.get(), until_monotonic_ns))
    return fail(Code::kUnavailable, "{}: fetch it: the other rank does not give it", kWho);
  const ssize_t got = ::recvmsg(socket.get(), &parcel.header, MSG_CMSG_CLOEXEC);
  const cmsghdr* beside = got == 1 ? CMSG_FIRSTHDR(&parcel.header) : nullptr;
  if (beside == nullptr || beside->cmsg_level != SOL_SOCKET || beside->cmsg_type != SCM_RIGHTS)
    return fail(Code::kUnavailable, "{}: fetch it: no descriptor came", kWho);
  int number = -1;
  std::memcpy(&number, CMSG_DATA(beside), sizeof number);
  return Fd(number);
}

}  // namespace railgauge::cuda
