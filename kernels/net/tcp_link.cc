#include "kernels/net/tcp_link.h"

#include <arpa/inet.h>
#include <linux/tcp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>

#include <fmt/format.h>

#include "kernels/core/agreement.h"
#include "kernels/core/base/clock.h"
#include "kernels/core/group/tcp.h"
#include "kernels/core/text/text.h"
#include "kernels/net/sockets.h"

namespace railgauge::net {

namespace {

// As many connections as the largest number of streams.
constexpr int kBacklog = 256;

// IPv4 or IPv6, as bind() and connect() take it.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

// `text` as this host reaches it: a link-local address through `netdev`.
Result<SocketAddress> socket_address(const std::string& text, std::uint16_t number,
                                     const std::string& netdev) {
  SocketAddress made;
  auto& v4 = reinterpret_cast<sockaddr_in&>(made.storage);
  auto& v6 = reinterpret_cast<sockaddr_in6&>(made.storage);
  if (inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(number);
    made.length = sizeof v4;
    return made;
  }
  if (inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr) != 1)
    return fail(Code::kInternal, fmt::format("address {}: is no numeric address", text));
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(number);
  if (IN6_IS_ADDR_LINKLOCAL(&v6.sin6_addr)) v6.sin6_scope_id = if_nametoindex(netdev.c_str());
  made.length = sizeof v6;
  return made;
}

// The kernel's list, for the error that a name is not in it.
std::string available_congestion_controls() {
  std::string line;
  std::ifstream file("/proc/sys/net/ipv4/tcp_available_congestion_control");
  std::getline(file, line);
  return line;
}

// An address or port that cannot be taken waives, except where permission lacks.
Code code_of(int error) {
  return error == EACCES || error == EPERM ? Code::kPermissionDenied : Code::kFailedPrecondition;
}

// Waits for a connect that is under way. kDeadlineExceeded.
Status wait_connected(const Fd& socket, double deadline_ns) {
  pollfd wait{socket.get(), POLLOUT, 0};
  int ready = 0;
  do {
    ready = sockets().poll(&wait, 1, poll_timeout_ms(deadline_ns));
  } while (ready < 0 && errno == EINTR);
  if (ready < 0) return fail(Code::kUnavailable, errno_words(errno));
  if (ready == 0) return fail(Code::kUnavailable, "no answer; a firewall may drop it");
  int error = 0;
  socklen_t length = sizeof error;
  if (sockets().getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length) != 0) error = errno;
  if (error != 0) return fail(Code::kUnavailable, errno_words(error));
  return {};
}

}  // namespace

// Address and port are per rank and no part of a series' identity; buffer, class and congestion
// control change the figures and are.
void add_connection(InfoBuilder& builder) {
  constexpr double kMillisecondNs = 1e6;
  constexpr double kHourNs = 3600e9;
  constexpr double kMaxPort = 65535;
  constexpr double kMaxBufferBytes = 1U << 30U;
  builder
      .text("netdev",
            "network interface of this rank; empty takes that of the endpoint's RDMA port", "")
      .per_rank()
      .text("address",
            "address of this rank; empty takes the interface's: IPv4, then global IPv6, then "
            "link-local",
            "")
      .per_rank()
      .integer("port", "TCP port where this rank listens while the task lasts; 0 takes a free one",
               0, 0, kMaxPort)
      .per_rank()
      .bytes("socket_buffer", "send and receive buffer of each socket; 0 leaves it to the kernel",
             "0", kMaxBufferBytes)
      .identity()
      .integer("traffic_class", "traffic class of the packets: the DSCP times 4", 0, 0, 255)
      .identity()
      .text("congestion_control", "TCP's congestion control; empty takes the system's", "")
      .identity()
      .duration("stall_timeout", "the task ends when nothing moves for this long", "10s",
                10 * kMillisecondNs, kHourNs);
}

// Options that must be set before the connection: the window's scale follows from the buffer.
Result<Fd> TcpLink::make_socket(bool is_ipv6) const {
  Fd socket(sockets().socket(is_ipv6 ? AF_INET6 : AF_INET,
                             SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return fail(Code::kResourceExhausted, "net: make a socket: " + errno_words(errno));
  const auto set = [&socket](int level, int name, int value) {
    return sockets().setsockopt(socket.get(), level, name, &value, sizeof value) == 0;
  };
  if (!set(IPPROTO_TCP, TCP_NODELAY, 1))
    return fail(Code::kInternal, "net: set TCP_NODELAY: " + errno_words(errno));
  const auto bytes = static_cast<int>(form_.buffer_bytes);
  if (bytes > 0 && (!set(SOL_SOCKET, SO_SNDBUF, bytes) || !set(SOL_SOCKET, SO_RCVBUF, bytes)))
    return fail(Code::kFailedPrecondition,
                fmt::format("parameter socket_buffer: {}: {}", bytes, errno_words(errno)));
  if (form_.traffic_class != 0 && !set(is_ipv6 ? IPPROTO_IPV6 : IPPROTO_IP,
                                       is_ipv6 ? IPV6_TCLASS : IP_TOS, form_.traffic_class))
    return fail(Code::kFailedPrecondition, fmt::format("parameter traffic_class: {}: {}",
                                                       form_.traffic_class, errno_words(errno)));
  const std::string& control = form_.congestion_control;
  if (!control.empty() &&
      sockets().setsockopt(socket.get(), IPPROTO_TCP, TCP_CONGESTION, control.data(),
                           static_cast<socklen_t>(control.size())) != 0)
    return fail(Code::kFailedPrecondition,
                fmt::format("parameter congestion_control: {}: {}; available here: {}", control,
                            errno_words(errno), available_congestion_controls()));
  return socket;
}

// The bound port is read back from the kernel, because port 0 lets it choose.
Status TcpLink::listen(const Params& params) {
  const InterfaceAddress& own = chosen_.address;
  listener_ = RG_TRY(make_socket(own.is_ipv6));
  const auto wanted = static_cast<std::uint16_t>(params.integer("port"));
  const SocketAddress here = RG_TRY(socket_address(own.text, wanted, own.netdev));
  const int one = 1;
  static_cast<void>(sockets().setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &one,
                                         sizeof one));  // else a port stays taken after a task
  if (sockets().bind(listener_.get(), here.get(), here.length) != 0 ||
      sockets().listen(listener_.get(), kBacklog) != 0) {
    const int error = errno;
    return fail(code_of(error), fmt::format("{}: listen on port {}: {}; parameter port 0 takes a "
                                            "free one",
                                            words(), wanted, errno_words(error)));
  }
  number_ = local_address(listener_).port;
  return {};
}

// Binds to the own address first, so that the peer sees the exchanged address. Across hosts,
// packets leave by this interface whatever the routes are, if the system permits it.
Result<Fd> TcpLink::connect_to_peer(double deadline_ns) {
  const InterfaceAddress& own = chosen_.address;
  const std::string& address = peer_.address();
  const bool is_ipv6 = address.find(':') != std::string::npos;
  const auto failed = [&](std::string_view act, Code code, const std::string& cause) {
    return fail(code,
                fmt::format("{}: {} {} port {}: {}", words(), act, address, peer_.port(), cause));
  };
  if (is_ipv6 != own.is_ipv6)
    return failed("connect to", Code::kFailedPrecondition,
                  "one is IPv4 and the other IPv6; name two of a kind by parameter address");
  Fd socket = RG_TRY(make_socket(is_ipv6));
  is_bound_ = is_on_wire() &&
              sockets().setsockopt(socket.get(), SOL_SOCKET, SO_BINDTODEVICE, own.netdev.data(),
                                   static_cast<socklen_t>(own.netdev.size())) == 0;
  const SocketAddress here = RG_TRY(socket_address(own.text, 0, own.netdev));
  const SocketAddress there =
      RG_TRY(socket_address(address, static_cast<std::uint16_t>(peer_.port()), own.netdev));
  if (sockets().bind(socket.get(), here.get(), here.length) != 0)
    return failed("bind before connecting to", code_of(errno), errno_words(errno));
  if (sockets().connect(socket.get(), there.get(), there.length) != 0 && errno != EINPROGRESS)
    return failed("connect to", Code::kUnavailable, errno_words(errno));
  if (const Status done = wait_connected(socket, deadline_ns); !done)
    return failed("connect to", done.error().code, done.error().message);
  return socket;
}

namespace {

constexpr double kConnectSeconds = 10;    // from the addresses to the last stream
constexpr std::size_t kMaxWaiting = 256;  // connections that have not said who they are

// The first bytes of every stream.
struct Greeting {
  std::uint64_t token = 0;
  std::uint32_t stream = 0;
  std::uint32_t reserved = 0;
};
static_assert(sizeof(Greeting) == 16);

bool is_own_choice(const std::string& parameter) {
  return parameter == "netdev" || parameter == "address" || parameter == "port";
}

// Falls back to the clock where the kernel has no random bytes yet.
std::uint64_t random_token() {
  std::uint64_t token = 0;
  if (getrandom(&token, sizeof token, 0) != sizeof token)
    token = static_cast<std::uint64_t>(monotonic_now_ns());
  return token;
}

// The same for two processes that share one network stack: then nothing between them is a wire.
std::string network_stack() {
  std::string boot;
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::getline(file, boot);
  std::error_code error;
  return boot + " " + std::filesystem::read_symlink("/proc/self/ns/net", error).string();
}

// An older kernel fills a shorter structure, by which it is recognised.
Result<tcp_info> info_of(int fd) {
  tcp_info info{};
  socklen_t length = sizeof info;
  if (sockets().getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0)
    return fail(Code::kInternal, "net: read TCP_INFO: " + errno_words(errno));
  if (length < offsetof(tcp_info, tcpi_bytes_received) + sizeof info.tcpi_bytes_received)
    return fail(Code::kUnimplemented,
                "net: this kernel's TCP_INFO has no byte counts; Linux 4.1 or later has them");
  return info;
}

// A connection that has not identified its stream yet.
struct Stranger {
  Fd socket;
  std::array<std::byte, sizeof(Greeting)> bytes{};
  std::size_t count = 0;
};

// Reads the available part of the greeting. Returns false when it can never become one.
bool read_on(Stranger& one) {
  while (one.count < one.bytes.size()) {
    const ssize_t got = sockets().recv(one.socket.get(), one.bytes.data() + one.count,
                                       one.bytes.size() - one.count, MSG_DONTWAIT);
    if (got > 0)
      one.count += static_cast<std::size_t>(got);
    else if (got < 0 && errno == EINTR)
      continue;
    else
      return got < 0 && errno == EAGAIN;
  }
  return true;
}

}  // namespace

// The rate is exchanged only where it is hardware's.
Result<std::unique_ptr<TcpLink>> TcpLink::open(const Context& context, const Options& options) {
  std::unique_ptr<TcpLink> link(new TcpLink);
  link->options_ = options;
  const Params& params = context.params;
  const auto addresses = RG_TRY(interface_addresses());
  link->chosen_ = RG_TRY(choose({.endpoint = context.endpoint,
                                 .netdev = params.text("netdev"),
                                 .address = params.text("address")},
                                addresses, sysfs_folder()));
  link->facts_ = netdev_facts(link->chosen_.address.netdev, sysfs_folder());
  link->form_ = {.buffer_bytes = params.bytes("socket_buffer"),
                 .traffic_class = static_cast<int>(params.integer("traffic_class")),
                 .congestion_control = params.text("congestion_control")};
  RG_TRY_OK(link->listen(params));
  link->limits_.deadline_monotonic_ns = context.deadline_monotonic_ns;
  link->limits_.stall_ns = params.duration_ns("stall_timeout");
  NetAddress& mine = link->mine_;
  mine.set_netdev(link->chosen_.address.netdev);
  mine.set_address(link->chosen_.address.text);
  mine.set_port(link->number_);
  mine.set_token(random_token());
  mine.set_host(network_stack());
  mine.set_mtu_bytes(link->facts_.mtu_bytes);
  if (link->facts_.is_rate_physical)
    mine.set_line_rate_bits_per_second(link->facts_.rate_bits_per_second);
  mine.mutable_parameters()->insert(params.effective().begin(), params.effective().end());
  return link;
}

// Compares the effective parameters, except the choices that each rank makes for itself.
Status TcpLink::check_peer(const Context& context) const {
  for (const auto& [name, value] : context.params.effective()) {
    const auto theirs = peer_.parameters().find(name);
    // A release without the parameter does what its default does.
    const bool fits = theirs == peer_.parameters().end() ? context.params.is_default(name)
                                                         : theirs->second == value;
    if (fits || is_own_choice(name)) continue;
    return fail(
        Code::kInvalidArgument,
        fmt::format("parameter {} is \"{}\" at {} but \"{}\" at {}; both ranks take the "
                    "same parameters",
                    name, value, words(), theirs == peer_.parameters().end() ? "" : theirs->second,
                    peer_.address()));
  }
  return {};
}

// Exchanges addresses, connects, and ends together. No caller is accepted afterwards.
Status TcpLink::connect(const Context& context, Group& group) {
  RG_CHECK(group.size() == 2);
  rank_ = group.rank();
  const auto all = RG_TRY(group.exchange(mine_.SerializeAsString(), seconds_left(context)));
  // The shortest of the task's deadline, the stall limit and kConnectSeconds.
  const double deadline_ns =
      std::min(context.deadline_monotonic_ns,
               monotonic_now_ns() + std::min(kConnectSeconds * 1e9, limits_.stall_ns));
  const Status here = [&]() -> Status {
    if (!peer_.ParseFromString(all[1 - rank_]) || peer_.port() > UINT16_MAX)
      return fail(Code::kInternal, fmt::format("rank {}: its address is no address", 1 - rank_));
    RG_TRY_OK(check_peer(context));
    return rank_ == 0 ? open_streams(deadline_ns) : accept_streams(deadline_ns);
  }();
  listener_.reset();          // the kernel refuses late callers from here on
  if (!here) pipes_.clear();  // the other side need not wait for its limit
  return agree<NetStatus>(group, here, seconds_left(context));
}

Result<Pipe> TcpLink::adopt(Fd socket, std::size_t number) {
  const TcpAddress peer = peer_address(socket);
  std::string who = fmt::format("{}: stream {} {} rank {} ({})", words(), number,
                                rank_ == 0 ? "to" : "from", 1 - rank_, to_string(peer));
  return Pipe::adopt(std::move(socket), std::move(who), limits_, options_.spins);
}

Error TcpLink::blamed(Error error) const {
  if (error.code != Code::kUnavailable || monotonic_now_ns() < limits_.deadline_monotonic_ns)
    return error;
  return {Code::kDeadlineExceeded, error.message + "; the task's deadline has come"};
}

// The greeting names token and stream, so that the order of arrival does not matter.
Status TcpLink::open_streams(double deadline_ns) {
  for (std::uint32_t number = 0; number < options_.streams; ++number) {
    auto socket = connect_to_peer(deadline_ns);
    if (!socket) return tl::unexpected(blamed(std::move(socket).error()));
    pipes_.push_back(RG_TRY(adopt(std::move(*socket), number)));
    const Greeting greeting{peer_.token(), number};
    if (!pipes_.back().send_all(std::as_bytes(std::span(&greeting, 1))))
      return tl::unexpected(pipes_.back().failure());
  }
  return {};
}

// A caller without the token is a stranger: closed, counted, and waiting continues.
Status TcpLink::accept_streams(double deadline_ns) {
  std::vector<Stranger> waiting;
  std::vector<Fd> streams(options_.streams);
  std::uint32_t missing = options_.streams;
  while (missing > 0) {
    // The listener first, then every caller that has not greeted.
    std::vector<pollfd> wanted{{listener_.get(), POLLIN, 0}};
    for (const Stranger& one : waiting) wanted.push_back({one.socket.get(), POLLIN, 0});
    const int ready = sockets().poll(wanted.data(), wanted.size(), poll_timeout_ms(deadline_ns));
    if (ready < 0 && errno != EINTR)
      return fail(Code::kInternal,
                  fmt::format("{}: wait for streams: {}", words(), errno_words(errno)));
    if (ready == 0)
      return tl::unexpected(blamed(
          {Code::kUnavailable,
           fmt::format("{}: {} of {} streams of rank 0 ({}) did not come to port {}{}; a "
                       "firewall may drop them",
                       words(), missing, options_.streams, peer_.address(), number_,
                       strangers_ == 0 ? "" : fmt::format(", but {} strangers did", strangers_))}));
    Fd fresh(sockets().accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fresh && waiting.size() < kMaxWaiting) waiting.push_back({.socket = std::move(fresh)});
    std::erase_if(waiting, [&](Stranger& one) {
      const bool is_alive = read_on(one);
      if (is_alive && one.count < one.bytes.size()) return false;
      Greeting greeting;
      std::memcpy(&greeting, one.bytes.data(), sizeof greeting);
      // The right token, a stream of the task, and not one that is there already.
      const bool is_ours = one.count == one.bytes.size() && greeting.token == mine_.token() &&
                           greeting.stream < streams.size() && !streams[greeting.stream];
      if (is_ours) {
        streams[greeting.stream] = std::move(one.socket);
        --missing;
      } else {
        ++strangers_;
      }
      return true;
    });
  }
  for (std::size_t number = 0; number < streams.size(); ++number)
    pipes_.push_back(RG_TRY(adopt(std::move(streams[number]), number)));
  return {};
}

// congestion_control and segment_bytes are read from the first stream after the handshake.
void TcpLink::report_facts(Reporter& reporter) const {
  reporter.fact("memory", "host");
  reporter.fact("path", is_on_wire() ? "tcp" : "tcp inside one host");
  if (!chosen_.device.empty()) {
    reporter.fact("device", chosen_.device);
    reporter.fact("port", chosen_.port);
  }
  reporter.fact("netdev", chosen_.address.netdev);
  reporter.fact("address", chosen_.address.text);
  reporter.fact("peer", peer_.address());
  reporter.fact("peer_netdev", peer_.netdev());
  reporter.fact("driver", facts_.driver);
  reporter.fact("mtu_bytes", std::to_string(std::min(mine_.mtu_bytes(), peer_.mtu_bytes())));
  if (facts_.rate_bits_per_second > 0)
    reporter.fact("port_rate_bits_per_second", fmt::format("{:.0f}", facts_.rate_bits_per_second));
  if (rank_ == 0) reporter.fact("bound_to_netdev", is_bound_ ? "true" : "false");
  if (strangers_ > 0) reporter.fact("strangers_refused", std::to_string(strangers_));
  std::array<char, 64> control{};
  socklen_t length = control.size() - 1;
  if (!pipes_.empty() && sockets().getsockopt(pipes_[0].fd(), IPPROTO_TCP, TCP_CONGESTION,
                                              control.data(), &length) == 0)
    reporter.fact("congestion_control", control.data());
  if (const auto info =
          pipes_.empty() ? Result<tcp_info>(fail(Code::kNotFound, "")) : info_of(pipes_[0].fd()))
    reporter.fact("segment_bytes", std::to_string(info->tcpi_snd_mss));
}

// Reads each stream in turn, so the sum is not of one instant: microseconds against a window of
// milliseconds.
Result<StreamTotals> TcpLink::totals() const {
  StreamTotals all;
  for (std::size_t stream = 0; stream < pipes_.size(); ++stream) {
    const StreamTotals own = RG_TRY(totals_of(stream));
    all.acknowledged_bytes += own.acknowledged_bytes;
    all.received_bytes += own.received_bytes;
    all.retransmits += own.retransmits;
  }
  return all;
}

Result<StreamTotals> TcpLink::totals_of(std::size_t stream) const {
  const tcp_info info = RG_TRY(info_of(pipes_[stream].fd()));
  return StreamTotals{.acknowledged_bytes = info.tcpi_bytes_acked,
                      .received_bytes = info.tcpi_bytes_received,
                      .retransmits = info.tcpi_total_retrans};
}

// Two ends in one network stack have no wire between them.
LineRate line_rate_between(const NetAddress& mine, const NetAddress& peer,
                           std::string_view driver) {
  const double here = mine.line_rate_bits_per_second();
  const double there = peer.line_rate_bits_per_second();
  const auto words = [](const NetAddress& end) {
    return fmt::format("{} ({})", end.address(), end.netdev());
  };
  if (mine.host() == peer.host()) return {.waiver = "both ends are in one host"};
  if (here <= 0 && there <= 0)
    return {.waiver = fmt::format("the rate of {} (driver {}) is unknown or only a name",
                                  mine.netdev(), driver)};
  if (here > 0 && (there <= 0 || here <= there))
    return {.bits_per_second = here, .end = words(mine)};
  return {.bits_per_second = there, .end = words(peer) + " at the other end"};
}

Status check_line_rate(const LineRate& rate, double bytes_per_second) {
  constexpr double kTolerance = 1.01;  // a window's edges are reads of a counter, not packets
  const double bits = 8 * bytes_per_second;
  if (!rate.waiver.empty() || bits <= kTolerance * rate.bits_per_second) return {};
  return fail(Code::kDataLoss,
              fmt::format("{}: measured {:.1f} Gb/s, above the line rate of {:.1f} Gb/s, so the "
                          "figure cannot be right",
                          rate.end, bits / 1e9, rate.bits_per_second / 1e9));
}

LineRate TcpLink::line_rate() const { return line_rate_between(mine_, peer_, facts_.driver); }

// Missing files count as no counters.
Counters TcpLink::counters() const {
  const std::array folders{sysfs_folder() + "/class/net/" + chosen_.address.netdev + "/statistics"};
  return read_counters(folders);
}

}  // namespace railgauge::net
