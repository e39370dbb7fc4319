// Addresses, sockets with deadlines, and frames over a socket.
#include "kernels/core/group/tcp.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <climits>
#include <cmath>
#include <cstring>
#include <future>
#include <memory>
#include <system_error>
#include <thread>

#include <fmt/format.h>

#include "kernels/core/base/clock.h"
#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"

namespace railgauge {
namespace {

// Connections that wait at once; more are refused by the kernel.
constexpr int kBacklog = 64;
// Pause in ns between two attempts at a host that refuses.
constexpr double kRetryNs = 100e6;
constexpr std::size_t kReadBytes = 64U << 10U;
// A socket for both families shows IPv4 peers so.
constexpr std::string_view kMappedIpv4 = "::ffff:";

struct AddressListTraits {
  using Type = addrinfo*;
  static Type empty() { return nullptr; }
  static void release(Type list) { freeaddrinfo(list); }
};
using AddressList = Handle<AddressListTraits>;

// "Connection refused (errno 111)".
std::string errno_text(int error) {
  return fmt::format("{} (errno {})", std::strerror(error), error);
}

Result<std::uint16_t> parse_port(std::string_view text, std::string_view whole) {
  const auto port = parse_integer(text);
  if (!port || *port < 0 || *port > 65535)
    return invalid("address {}: port {} is not 0 to 65535", in_quotes(whole), in_quotes(text));
  return static_cast<std::uint16_t>(*port);
}

// Host and, where one is named, port. A bare IPv6 address has several colons and no port.
struct HostPort {
  std::string_view host;
  std::optional<std::string_view> port;
};

Result<HostPort> split_address(std::string_view text) {
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    const std::string_view rest = end == text.npos ? "" : text.substr(end + 1);
    if (end == text.npos || end == 1 || !(rest.empty() || rest.starts_with(':')))
      return invalid("address {} is not [IPV6]:PORT", in_quotes(text));
    HostPort out{text.substr(1, end - 1), std::nullopt};
    if (!rest.empty()) out.port = rest.substr(1);
    return out;
  }
  const std::size_t colon = text.find(':');
  if (colon == text.npos || text.find(':', colon + 1) != text.npos)
    return HostPort{text, std::nullopt};
  return HostPort{text.substr(0, colon), text.substr(colon + 1)};
}

// getaddrinfo for a numeric port. The error of an unknown name is the caller's fault, all others
// are the network's.
Result<AddressList> look_up(const TcpAddress& address, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int error = getaddrinfo(address.host.empty() ? nullptr : address.host.c_str(),
                                std::to_string(address.port).c_str(), &hints, &list);
  if (error != 0)
    return fail(error == EAI_NONAME ? Code::kInvalidArgument : Code::kUnavailable, "address {}: {}",
                to_string(address), gai_strerror(error));
  return AddressList(list);
}

// getaddrinfo knows no deadline, so it runs on a thread of its own. A call that is late is left
// behind and ends by its own limit.
Result<AddressList> look_up_until(const TcpAddress& address, double deadline_ns) {
  auto promise = std::make_shared<std::promise<Result<AddressList>>>();
  auto future = promise->get_future();
  try {
    std::thread([promise, address] { promise->set_value(look_up(address, 0)); }).detach();
  } catch (const std::system_error& error) {
    return fail(Code::kResourceExhausted, "resolve {}: start a thread: {}", address.host,
                error.what());
  }
  if (future.wait_for(std::chrono::milliseconds(poll_timeout_ms(deadline_ns))) !=
      std::future_status::ready)
    return fail(Code::kDeadlineExceeded, "resolve {}: the name service did not answer in time",
                address.host);
  return future.get();
}

// Sets an option that only changes speed or convenience, so its failure is ignored.
void set_option(const Fd& socket, int level, int name, int value) {
  (void)setsockopt(socket.get(), level, name, &value, sizeof(value));
}

// The numeric address of a socket; an IPv4 peer loses the prefix of its mapped form.
TcpAddress address_of(const sockaddr_storage& storage, socklen_t length) {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  if (getnameinfo(reinterpret_cast<const sockaddr*>(&storage), length, host.data(), host.size(),
                  port.data(), port.size(), NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return {"unknown", 0};
  std::string_view name = host.data();
  if (name.starts_with(kMappedIpv4) && name.find('.') != name.npos)
    name.remove_prefix(kMappedIpv4.size());
  return {std::string(name), parse_port(port.data(), port.data()).value_or(0)};
}

// The address that getsockname or getpeername reports.
template <class Name>
TcpAddress address_by(Name name, const Fd& socket) {
  sockaddr_storage storage{};
  socklen_t length = sizeof(storage);
  name(socket.get(), reinterpret_cast<sockaddr*>(&storage), &length);
  return address_of(storage, length);
}

// Binds and listens at one address. An IPv6 socket takes IPv4 too.
Result<Fd> listen_on(const addrinfo& where) {
  Fd socket(::socket(where.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return fail(Code::kUnavailable, errno_text(errno));
  set_option(socket, SOL_SOCKET, SO_REUSEADDR, 1);
  if (where.ai_family == AF_INET6) set_option(socket, IPPROTO_IPV6, IPV6_V6ONLY, 0);
  if (::bind(socket.get(), where.ai_addr, where.ai_addrlen) != 0 ||
      ::listen(socket.get(), kBacklog) != 0)
    return fail(errno == EACCES ? Code::kPermissionDenied : Code::kUnavailable, errno_text(errno));
  return socket;
}

// One attempt at one address; it ends by the deadline.
Result<Fd> connect_once(const addrinfo& where, double deadline_ns) {
  Fd socket(::socket(where.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return fail(Code::kUnavailable, errno_text(errno));
  if (::connect(socket.get(), where.ai_addr, where.ai_addrlen) != 0 && errno != EINPROGRESS)
    return fail(Code::kUnavailable, errno_text(errno));
  pollfd wait{socket.get(), POLLOUT, 0};
  int ready = 0;
  do {
    ready = ::poll(&wait, 1, poll_timeout_ms(deadline_ns));
  } while (ready < 0 && errno == EINTR);
  if (ready <= 0) return fail(Code::kDeadlineExceeded, "no answer within the deadline");
  int error = 0;
  socklen_t length = sizeof(error);
  getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length);
  if (error != 0) return fail(Code::kUnavailable, errno_text(error));
  return socket;
}

}  // namespace

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

int poll_timeout_ms(double deadline_ns) {
  constexpr double kLongestPollMs = 3600e3;
  return static_cast<int>(
      std::clamp(std::ceil((deadline_ns - monotonic_now_ns()) / 1e6), 0.0, kLongestPollMs));
}

Result<TcpAddress> parse_listen_address(std::string_view text) {
  const HostPort parts = RG_TRY(split_address(text));
  // Not inside of the braces: a return from there would leak the host's memory.
  const std::uint16_t port = RG_TRY(parse_port(parts.port.value_or(parts.host), text));
  return TcpAddress{parts.port ? std::string(parts.host) : std::string(), port};
}

Result<TcpAddress> parse_connect_address(std::string_view text, std::uint16_t default_port) {
  const HostPort parts = RG_TRY(split_address(text));
  if (parts.host.empty()) return invalid("address {} names no host", in_quotes(text));
  TcpAddress out{std::string(parts.host), default_port};
  if (parts.port) out.port = RG_TRY(parse_port(*parts.port, text));
  return out;
}

std::string to_string(const TcpAddress& address) {
  if (address.host.empty()) return fmt::format("*:{}", address.port);
  const bool ipv6 = address.host.find(':') != std::string::npos;
  return ipv6 ? fmt::format("[{}]:{}", address.host, address.port)
              : fmt::format("{}:{}", address.host, address.port);
}

// An IPv6 socket without a host takes both families; a machine without IPv6 refuses it, so IPv4
// follows.
Result<Fd> tcp_listen(const TcpAddress& address) {
  // IPv6 without a host takes both kinds; a machine without IPv6 refuses it.
  const bool any = address.host.empty();
  Error last{Code::kUnavailable, "no address"};
  for (const char* host : {any ? "::" : address.host.c_str(), any ? "0.0.0.0" : ""}) {
    if (*host == '\0') continue;
    const AddressList list = RG_TRY(look_up({host, address.port}, AI_PASSIVE | AI_NUMERICHOST));
    auto socket = listen_on(*list.get());
    if (socket) return socket;
    last = std::move(socket).error();
  }
  return fail(last.code, "listen on {}: {}", to_string(address), last.message);
}

TcpAddress local_address(const Fd& socket) { return address_by(getsockname, socket); }

TcpAddress peer_address(const Fd& socket) { return address_by(getpeername, socket); }

// Ignores errors of connections that died in the queue (accept(2)); returns only a lack of
// descriptors or memory.
Result<Accepted> tcp_accept(const Fd& listener) {
  sockaddr_storage storage{};
  socklen_t length = sizeof(storage);
  Fd socket(::accept4(listener.get(), reinterpret_cast<sockaddr*>(&storage), &length,
                      SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (socket) return Accepted{std::move(socket), address_of(storage, length)};
  // An accept error of a connection that died in the queue is ignored.
  const bool fatal = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
  if (fatal) return fail(Code::kResourceExhausted, "accept: " + errno_text(errno));
  return Accepted{};
}

// Tries all addresses of the host in turn until the deadline: the other side may start later.
Result<Fd> tcp_connect(const TcpAddress& address, double deadline_ns) {
  const AddressList list = RG_TRY(look_up_until(address, deadline_ns));
  Error last;
  do {
    for (const addrinfo* where = list.get(); where != nullptr; where = where->ai_next) {
      auto socket = connect_once(*where, deadline_ns);
      if (socket) return socket;
      last = std::move(socket).error();
    }
    const double rest_ns = std::min(kRetryNs, deadline_ns - monotonic_now_ns());
    if (rest_ns > 0) std::this_thread::sleep_for(std::chrono::duration<double, std::nano>(rest_ns));
  } while (monotonic_now_ns() < deadline_ns);
  return fail(Code::kUnavailable, "connect to {}: {}; start the other side with --listen first",
              to_string(address), last.message);
}

// Frames are small and each waits for its answer, so Nagle's algorithm would delay them.
FrameStream::FrameStream(Fd socket, const TcpAddress& peer)
    : socket_(std::move(socket)), peer_(to_string(peer)) {
  set_option(socket_, IPPROTO_TCP, TCP_NODELAY, 1);
}

tl::unexpected<Error> FrameStream::closed() const {
  return fail(Code::kUnavailable, "peer {} closed the connection", peer_);
}

// MSG_NOSIGNAL: a peer that is gone is an error here and no SIGPIPE.
Status FrameStream::send(const google::protobuf::MessageLite& message, double deadline_ns) {
  const std::string bytes = frame(message);
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t n = ::send(socket_.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n >= 0) {
      sent += static_cast<std::size_t>(n);
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return closed();
    if (monotonic_now_ns() >= deadline_ns)
      return fail(Code::kDeadlineExceeded, "peer {} takes no data", peer_);
    pollfd wait{socket_.get(), POLLOUT, 0};
    ::poll(&wait, 1, poll_timeout_ms(deadline_ns));
  }
  return {};
}

// Bounds the bytes that a stranger can make this side buffer.
Result<std::optional<std::string>> FrameStream::poll_frame(std::size_t limit) {
  std::array<char, kReadBytes> bytes;
  for (;;) {
    auto whole = reader_.next();
    if (!whole || (*whole && (*whole)->size() > limit) || reader_.pending() > limit + kReadBytes)
      return fail(Code::kUnavailable, "peer {} sent garbage", peer_);
    if (*whole) return whole;
    const ssize_t n = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
    if (n > 0) {
      reader_.feed({bytes.data(), static_cast<std::size_t>(n)});
      continue;
    }
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return std::optional<std::string>();
    return closed();
  }
}

Result<std::string> FrameStream::read_frame(std::size_t limit, double deadline_ns) {
  for (;;) {
    auto whole = RG_TRY(poll_frame(limit));
    if (whole) return std::move(*whole);
    if (monotonic_now_ns() >= deadline_ns)
      return fail(Code::kDeadlineExceeded, "peer {} did not answer in time", peer_);
    pollfd wait{socket_.get(), POLLIN, 0};
    ::poll(&wait, 1, poll_timeout_ms(deadline_ns));
  }
}

}  // namespace railgauge
