#include "controller/listen/tcp_listener.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "controller/fleet/event_loop.h"
#include "controller/listen/sockets.h"

namespace railgauge {
namespace {

using fleet::monotonic_seconds;

constexpr int kAcceptsATurn = 32;  // then the waiting ones are looked at
constexpr std::size_t kEventsATurn = 256;
constexpr int kLongestTurnMilliseconds = 1'000;
constexpr int kPauseMilliseconds = 50;  // after an error that accept repeats at once
constexpr int kCloseMilliseconds = 1;   // for gRPC to close a connection that has ended
constexpr double kMillisecondsPerSecond = 1'000;
// As gRPC sets it on its own listener from the keepalive timeout.
constexpr int kUserTimeoutMilliseconds = 10'000;
// Identities of epoll events that are no cookie. Cookies count up from 1.
constexpr std::uint64_t kListenerTag = 1ULL << 63U;
constexpr std::uint64_t kWakeTag = kListenerTag | (1ULL << 62U);

Fd open_spare() { return Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

bool watch(const Fd& epoll, int fd, std::uint32_t events, std::uint64_t tag) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = tag;
  return ::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

// Errors of one connection, or of none: the next accept may succeed. accept(2) lists those of the
// network.
bool is_passing(int error) {
  constexpr std::array kPassing{EAGAIN,       EINTR,       ECONNABORTED, EPROTO,
                                ENETDOWN,     ENOPROTOOPT, EHOSTDOWN,    ENONET,
                                EHOSTUNREACH, EOPNOTSUPP,  ENETUNREACH,  EPERM};
  return std::ranges::find(kPassing, error) != kPassing.end();
}

void set_options(int fd) {
  const int yes = 1;
  const int limit = kUserTimeoutMilliseconds;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  ::setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit, sizeof(limit));
}

}  // namespace

TcpListener::TcpListener(std::vector<Fd> listeners, Fd epoll, Fd wake, Protocol protocol)
    : listeners_(std::move(listeners)),
      epoll_(std::move(epoll)),
      wake_(std::move(wake)),
      spare_(open_spare()),
      protocol_(protocol),
      budget_(descriptor_budget()),
      port_(bound_port(listeners_.front())),
      turn_at_(monotonic_seconds()) {}

TcpListener::~TcpListener() { stop(); }

Result<std::unique_ptr<TcpListener>> TcpListener::open(std::string_view flag,
                                                       const HostPort& address, Protocol protocol) {
  std::vector<Fd> listeners = RG_TRY(listen_on(flag, address));
  Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
  Fd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  bool watched = epoll && wake && watch(epoll, wake.get(), EPOLLIN, kWakeTag);
  for (std::size_t i = 0; watched && i < listeners.size(); ++i)
    watched = watch(epoll, listeners[i].get(), EPOLLIN, kListenerTag | i);
  if (!watched)
    return fail(Code::kResourceExhausted, "--{} {}:{}: epoll: {}", flag, address.host, address.port,
                std::strerror(errno));
  return std::unique_ptr<TcpListener>(
      new TcpListener(std::move(listeners), std::move(epoll), std::move(wake), protocol));
}

void TcpListener::start(HandOver hand_over) {
  hand_over_ = std::move(hand_over);
  turn_at_ = monotonic_seconds();
  thread_ = std::thread([this] { loop(); });
}

void TcpListener::stop() {
  if (!thread_.joinable()) return;
  RG_CHECK(::eventfd_write(wake_.get(), 1) == 0);
  thread_.join();
  for (const Fd& listener : listeners_) ::shutdown(listener.get(), SHUT_RDWR);
  waiting_.clear();
}

void TcpListener::end(std::uint64_t id) { handed_over_.end(id); }

Result<std::pair<Fd, Fd>> TcpListener::make_pair(std::uint64_t id, const std::string& certificate) {
  handed_over_.begin_greeting(id);  // it is not closed for itself
  constexpr int kTries = 16;        // each closes a connection, whose owner may take a moment
  for (int i = 0; i < kTries; ++i) {
    std::array<int, 2> raw{-1, -1};
    const bool made =
        ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, raw.data()) == 0;
    std::pair<Fd, Fd> pair{Fd(raw[0]), Fd(raw[1])};
    const int highest = made ? std::max(raw[0], raw[1]) : budget_.limit;
    const bool has_room = highest >= budget_.tcp_crowded && handed_over_.shed();
    if (has_room) ++shed_;
    if (highest < budget_.tcp_end) {
      refuses_pairs_ = false;
      refusing_since_ = 0;
      handed_over_.end_greeting(id, certificate, monotonic_seconds());
      return pair;
    }
    if (!has_room) break;
    pair = {};
    pause(kCloseMilliseconds);
  }
  refuses_pairs_ = true;
  count_refusal();
  return fail(Code::kResourceExhausted,
              fmt::format("TCP has all of its {} descriptors (limit {}); raise LimitNOFILE",
                          budget_.tcp_end, budget_.limit));
}

TcpListener::Counts TcpListener::counts() const {
  return {.accepted = accepted_,
          .shed = shed_ + handed_over_.ended_by_certificate(),
          .timed_out = timed_out_,
          .refused = refused_,
          .left = left_,
          .waiting = now_waiting_,
          .unproven = handed_over_.in_handshake()};
}

std::string TcpListener::trouble() const {
  const double now = monotonic_seconds();
  if (const double idle = now - turn_at_; idle > kTroubleSeconds)
    return fmt::format("TCP port {}: the accept loop last ran {:.0f} s ago", port_, idle);
  if (const int error = accept_error_; error != 0)
    return fmt::format("TCP port {}: accept: {}", port_, std::strerror(error));
  const double since = refusing_since_;
  if (since > 0 && now - since > kTroubleSeconds && now - refused_at_ < kRefusedSeconds)
    return fmt::format(
        "TCP port {}: every connection is refused for {:.0f} s: TCP has all of its {} descriptors "
        "(limit {}); raise LimitNOFILE",
        port_, now - since, budget_.tcp_end, budget_.limit);
  return "";
}

void TcpListener::loop() {
  std::array<epoll_event, kEventsATurn> events{};
  while (true) {
    const int ready = ::epoll_wait(epoll_.get(), events.data(), kEventsATurn, wait_milliseconds());
    turn_at_ = monotonic_seconds();
    for (int i = 0; i < ready; ++i) {
      const epoll_event& event = events.at(static_cast<std::size_t>(i));
      const std::uint64_t tag = event.data.u64;
      if (tag == kWakeTag) return;
      if ((tag & kListenerTag) != 0)
        accept_some(listeners_.at(tag & ~kListenerTag));
      else
        look(tag, (event.events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0);
    }
    expire();
  }
}

int TcpListener::wait_milliseconds() const {
  const auto next = arrivals_.next_expiry(monotonic_seconds());
  if (!next) return kLongestTurnMilliseconds;
  return std::min(kLongestTurnMilliseconds,
                  static_cast<int>(std::ceil(*next * kMillisecondsPerSecond)));
}

void TcpListener::accept_some(const Fd& listener) {
  for (int i = 0; i < kAcceptsATurn; ++i) {
    sockaddr_storage peer{};
    socklen_t size = sizeof(peer);
    Fd connection(::accept4(listener.get(), reinterpret_cast<sockaddr*>(&peer), &size,
                            SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (connection) {
      accept_error_ = 0;
      admit(std::move(connection), peer);
    } else if (!recover(listener, errno)) {
      return;
    }
  }
}

// Reports whether another accept is worth a try.
bool TcpListener::recover(const Fd& listener, int error) {
  if (is_passing(error)) {
    accept_error_ = 0;
    return error != EAGAIN;
  }
  if (error == EMFILE || error == ENFILE) {
    if (const auto oldest = arrivals_.shed()) {
      close_waiting(*oldest, shed_);
      note_trouble("no descriptor is left");
      return true;
    }
    if (spare_) {
      // The peer learns at once that it is not served, and the backlog stays free.
      spare_.reset();
      sockaddr_storage peer{};
      socklen_t size = sizeof(peer);
      Fd connection(
          ::accept4(listener.get(), reinterpret_cast<sockaddr*>(&peer), &size, SOCK_CLOEXEC));
      const bool is_accepted = static_cast<bool>(connection);
      if (is_accepted) refuse(peer);
      connection.reset();
      spare_ = open_spare();
      if (is_accepted) return true;
    }
    if (!spare_) spare_ = open_spare();
  } else if (error != ENOBUFS && error != ENOMEM) {
    accept_error_ = error;
  }
  note_trouble(std::strerror(error));
  pause(kPauseMilliseconds);  // the listener stays readable, so the loop would spin
  return false;
}

// Waits; stop() ends the wait.
void TcpListener::pause(int milliseconds) const {
  pollfd wake{wake_.get(), POLLIN, 0};
  ::poll(&wake, 1, milliseconds);
}

void TcpListener::count_refusal() {
  ++refused_;
  refused_at_ = monotonic_seconds();
  double none = 0;
  refusing_since_.compare_exchange_strong(none, monotonic_seconds());
}

void TcpListener::refuse(const sockaddr_storage& peer) {
  count_refusal();
  note_trouble(fmt::format("{} was refused: TCP has all of its {} descriptors", peer_uri(peer),
                           budget_.tcp_end));
}

// Closes a connection that has proved nothing. False: there is none.
bool TcpListener::make_room() {
  if (const auto oldest = arrivals_.shed()) {
    close_waiting(*oldest, shed_);
  } else if (handed_over_.shed()) {
    ++shed_;
    pause(kCloseMilliseconds);
  } else {
    return false;
  }
  note_trouble("few descriptors are left");
  return true;
}

void TcpListener::admit(Fd connection, const sockaddr_storage& peer) {
  if (connection.get() >= budget_.tcp_crowded) make_room();
  if (connection.get() >= budget_.tcp_end)
    connection = Fd(::fcntl(connection.get(), F_DUPFD_CLOEXEC, 0));  // the lowest one now
  if (!connection || connection.get() >= budget_.tcp_end) return refuse(peer);
  if (!refuses_pairs_) refusing_since_ = 0;
  set_options(connection.get());
  const std::uint64_t id = cookie_of(connection.get());
  if (id == 0 || (id & kListenerTag) != 0) return refuse(peer);  // it would be taken for a port
  const int fd = connection.get();
  waiting_[id] = {.fd = std::move(connection), .peer = peer};
  if (const auto oldest = arrivals_.enter(id, source_of(peer), monotonic_seconds())) {
    close_waiting(*oldest, shed_);
    note_trouble(
        fmt::format("{} has many connections without a handshake", arrivals_.biggest_source()));
  }
  now_waiting_ = waiting_.size();
  look(id, false);
  if (waiting_.contains(id) && !watch(epoll_, fd, EPOLLIN | EPOLLRDHUP | EPOLLET, id))
    close_waiting(id, refused_);
}

// Looks without reading, so that gRPC finds every byte.
void TcpListener::look(std::uint64_t id, bool is_hung_up) {
  const auto found = waiting_.find(id);
  if (found == waiting_.end()) return;  // closed by an earlier event of this turn
  const ssize_t size =
      ::recv(found->second.fd.get(), bytes_.data(), bytes_.size(), MSG_PEEK | MSG_DONTWAIT);
  if (size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR)) return close_waiting(id, left_);
  const std::span<const std::uint8_t> bytes(bytes_.data(),
                                            static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  switch (protocol_ == Protocol::kTls ? look_at_client_hello(bytes) : look_at_preface(bytes)) {
    case FirstBytes::kComplete:
      return hand_over(id);
    case FirstBytes::kForeign:
      note_trouble(fmt::format("{} sent no {}", peer_uri(found->second.peer),
                               protocol_ == Protocol::kTls ? "TLS ClientHello" : "HTTP/2"));
      return close_waiting(id, refused_);
    case FirstBytes::kIncomplete:
      if (is_hung_up) close_waiting(id, left_);
  }
}

void TcpListener::hand_over(std::uint64_t id) {
  auto connection = waiting_.extract(id);
  arrivals_.leave(id);
  now_waiting_ = waiting_.size();
  Fd& fd = connection.mapped().fd;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd.get(), nullptr);  // no error matters: perhaps not in
  const std::size_t ended =
      handed_over_.add(fd.get(), id, connection.mapped().peer, monotonic_seconds());
  if (ended > 0) {
    shed_ += ended;
    note_trouble("many connections hold their handshake up");
  }
  ++accepted_;
  hand_over_(std::move(fd), id, connection.mapped().peer);
}

void TcpListener::close_waiting(std::uint64_t id, std::atomic<std::uint64_t>& count) {
  ++count;  // before the peer can see the end
  arrivals_.leave(id);
  waiting_.erase(id);
  now_waiting_ = waiting_.size();
}

void TcpListener::expire() {
  const double now = monotonic_seconds();
  for (const std::uint64_t id : arrivals_.expired(now)) {
    const auto found = waiting_.find(id);
    if (found != waiting_.end())
      note_trouble(fmt::format("{} sent nothing whole for {:.0f} s", peer_uri(found->second.peer),
                               kWaitSeconds));
    close_waiting(id, timed_out_);
  }
  handed_over_.tick(now);
}

// One line a minute, whatever the peers do.
void TcpListener::note_trouble(std::string_view example) {
  const auto events = line_.note(monotonic_seconds());
  if (!events) return;
  const Counts sum = counts();
  spdlog::warn(
      "TCP port {}: {}; {} such events since the last line; since the start {} accepted, {} shed, "
      "{} timed out, {} refused, {} left; {} wait, {} are in their handshake",
      port_, example, *events, sum.accepted, sum.shed, sum.timed_out, sum.refused, sum.left,
      sum.waiting, sum.unproven);
}

}  // namespace railgauge
