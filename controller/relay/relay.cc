#include "controller/relay/relay.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <deque>
#include <map>
#include <new>
#include <thread>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "controller/listen/sockets.h"
#include "kernels/core/base/clock.h"
#include "kernels/core/base/exhaustion.h"

namespace railgauge::relay {
namespace {

constexpr double kNanosecondsPerSecond = 1e9;
constexpr double kMillisecondsPerSecond = 1e3;
constexpr int kLongestWaitMilliseconds = 1'000;
constexpr std::size_t kEventsATurn = 256;
constexpr std::size_t kTurnsAPass = 64;  // then events, arrivals and the stop are looked at
constexpr std::uint64_t kWakeTag = ~0ULL;
// The tag of an event: the connection's number, and whether gRPC's side has it.
constexpr std::uint64_t kInnerTag = 1ULL << 63U;

double now_seconds() { return monotonic_now_ns() / kNanosecondsPerSecond; }

// Names a socket of a pair in the abstract namespace; its peer sees the name. Every local user can
// take names there, so each is random as a whole. Returns the name; "" with errno.
std::string give_name(int fd) {
  constexpr int kTries = 4;
  for (int i = 0; i < kTries; ++i) {
    std::array<std::uint64_t, 2> random{};
    if (::getrandom(random.data(), sizeof(random), 0) != sizeof(random)) continue;
    std::string name = fmt::format("railgauge-{:016x}{:016x}", random[0], random[1]);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    name.copy(address.sun_path + 1, sizeof(address.sun_path) - 1);
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), size) == 0) return name;
  }
  return "";
}

}  // namespace

struct Relay::Connection {
  Connection(std::uint64_t number, const sockaddr_storage& peer, Fd outer,
             const std::shared_ptr<const trust::TlsServer>& tls)
      : id(number),
        address(peer_uri(peer)),
        host(address.substr(0, address.rfind(':'))),
        passage(std::move(outer), tls, now_seconds()) {}

  const std::uint64_t id;
  const std::string address;
  const std::string host;  // its address without the port
  std::string party{};     // names the certificate; "": none
  std::optional<trust::Certificate> certificate{};
  std::string name{};  // gRPC's; "": gRPC does not have it
  double timer = 0;    // an entry of the loop's timers; 0: none
  bool is_ready = false;
  Passage passage;
};

// One thread with its connections.
class Relay::Loop {
 public:
  static Result<std::unique_ptr<Loop>> start(Relay& relay) {
    Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
    Fd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    epoll_event event{.events = EPOLLIN, .data = {.u64 = kWakeTag}};
    if (!epoll || !wake || ::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, wake.get(), &event) != 0)
      return fail(Code::kResourceExhausted, fmt::format("epoll: {}", std::strerror(errno)));
    std::unique_ptr<Loop> loop(new Loop(relay, std::move(epoll), std::move(wake)));
    loop->thread_ = std::thread([raw = loop.get()] { raw->run(); });
    return loop;
  }
  ~Loop() { stop(); }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void post(std::unique_ptr<Connection> connection) {
    {
      const std::lock_guard lock(mutex_);
      arrived_.push_back(std::move(connection));
    }
    RG_CHECK(::eventfd_write(wake_.get(), 1) == 0);
  }
  void stop() {
    if (!thread_.joinable()) return;
    stopping_ = true;
    RG_CHECK(::eventfd_write(wake_.get(), 1) == 0);
    thread_.join();
  }

 private:
  using Connections = std::unordered_map<std::uint64_t, std::unique_ptr<Connection>>;

  Loop(Relay& relay, Fd epoll, Fd wake)
      : relay_(relay), epoll_(std::move(epoll)), wake_(std::move(wake)) {}

  void run() {
    sigset_t pipe;  // OpenSSL writes to sockets whose peer is gone
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
    std::array<epoll_event, kEventsATurn> events{};
    double stop_at = 0;
    while (true) {
      const int count = ::epoll_wait(epoll_.get(), events.data(), kEventsATurn, wait());
      for (int i = 0; i < count; ++i) take_event(events.at(static_cast<std::size_t>(i)));
      const double now = now_seconds();
      take_arrived();
      fire_timers(now);
      take_turns();
      if (!stopping_) continue;
      if (stop_at == 0) stop_at = now + kFlushSeconds;
      drop_unknown();
      if (connections_.empty() || now >= stop_at) break;
    }
    for (auto& [id, connection] : connections_) relay_.ended(*connection);
    connections_.clear();
  }

  [[nodiscard]] int wait() const {
    if (!ready_.empty()) return 0;
    constexpr int kStoppingMilliseconds = 10;
    const int longest = stopping_ ? kStoppingMilliseconds : kLongestWaitMilliseconds;
    if (timers_.empty()) return longest;
    const double left = (timers_.begin()->first - now_seconds()) * kMillisecondsPerSecond;
    return static_cast<int>(std::ceil(std::clamp(left, 0.0, static_cast<double>(longest))));
  }

  void take_event(const epoll_event& event) {
    if (event.data.u64 == kWakeTag) {
      eventfd_t value = 0;
      ::eventfd_read(wake_.get(), &value);
      return;
    }
    const auto found = connections_.find(event.data.u64 & ~kInnerTag);
    if (found == connections_.end()) return;
    const bool is_outer = (event.data.u64 & kInnerTag) == 0;
    if (is_outer && (event.events & (EPOLLHUP | EPOLLRDHUP | EPOLLERR)) != 0)
      found->second->passage.hang_up();
    make_ready(*found->second);
  }

  void take_arrived() {
    std::vector<std::unique_ptr<Connection>> arrived;
    {
      const std::lock_guard lock(mutex_);
      arrived.swap(arrived_);
    }
    for (auto& connection : arrived) {
      Connection& raw = *connection;
      connections_[raw.id] = std::move(connection);
      if (!watch(raw.passage.outer(), raw.id) ||
          (raw.passage.is_open() && !watch(raw.passage.inner(), raw.id | kInnerTag)))
        erase(raw);
      else
        make_ready(raw);
    }
  }

  // Edges: turns follow until nothing more can be done.
  bool watch(int fd, std::uint64_t tag) {
    epoll_event event{.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data = {.u64 = tag}};
    return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
  }

  void make_ready(Connection& connection) {
    if (std::exchange(connection.is_ready, true)) return;
    ready_.push_back(connection.id);
  }

  void fire_timers(double now) {
    while (!timers_.empty() && timers_.begin()->first <= now) {
      const auto [time, id] = *timers_.begin();
      timers_.erase(timers_.begin());
      const auto found = connections_.find(id);
      if (found == connections_.end()) continue;
      if (found->second->timer == time) found->second->timer = 0;
      make_ready(*found->second);
    }
  }

  // A turn of those that are ready; those with more to do come after all others.
  void take_turns() {
    for (std::size_t i = std::min(ready_.size(), kTurnsAPass); i > 0; --i) {
      const std::uint64_t id = ready_.front();
      ready_.pop_front();
      const auto found = connections_.find(id);
      if (found == connections_.end()) continue;
      found->second->is_ready = false;
      try {
        const MayFail may_fail;
        take_turn(*found->second, now_seconds());
      } catch (const std::bad_alloc&) {  // this connection ends; the others may have their bytes
        const auto still = connections_.find(id);
        if (still != connections_.end()) erase(*still->second);
      }
    }
  }

  void take_turn(Connection& connection, double now) {
    Passage& passage = connection.passage;
    Passage::Next next = passage.turn(now);
    if (next == Passage::Next::kKnown) {
      relay_.identify(connection);
      next = passage.turn(now);
    }
    if (next == Passage::Next::kIntroduce) {
      if (!relay_.introduce(connection)) return erase(connection);
      return move_on(connection);
    }
    if (next == Passage::Next::kEnd) return erase(connection);
    if (const std::uint64_t pauses = passage.take_pauses(); pauses > 0) {
      relay_.paused_ += pauses;
      relay_.note(connection, "is slowed: it makes more HTTP/2 frames than its allowance");
    }
    if (next == Passage::Next::kAgain) make_ready(connection);
    const double due = passage.due();
    if (std::isinf(due) || (connection.timer > 0 && connection.timer <= due)) return;
    drop_timer(connection);
    connection.timer = due;
    timers_.emplace(due, connection.id);
  }

  // Gives a connection that gRPC knows to a loop that moves bytes.
  void move_on(Connection& connection) {
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, connection.passage.outer(), nullptr);
    drop_timer(connection);
    auto node = connections_.extract(connection.id);
    const std::uint32_t turn = relay_.next_loop_++ % kLoops;
    relay_.loops_.at(kGreeters + turn)->post(std::move(node.mapped()));
  }

  void drop_timer(Connection& connection) {
    const auto [from, to] = timers_.equal_range(std::exchange(connection.timer, 0));
    const auto own =
        std::find_if(from, to, [&](const auto& entry) { return entry.second == connection.id; });
    if (own != to) timers_.erase(own);
  }

  void erase(Connection& connection) {
    drop_timer(connection);
    relay_.ended(connection);
    connections_.erase(connection.id);
  }

  // Those that gRPC does not have.
  void drop_unknown() {
    std::vector<Connection*> unknown;
    for (auto& [id, connection] : connections_)
      if (connection->name.empty()) unknown.push_back(connection.get());
    for (Connection* connection : unknown) erase(*connection);
  }

  Relay& relay_;
  const Fd epoll_;
  const Fd wake_;
  std::atomic<bool> stopping_ = false;
  std::mutex mutex_;  // guards arrived_
  std::vector<std::unique_ptr<Connection>> arrived_;
  // On the thread only.
  Connections connections_;
  std::deque<std::uint64_t> ready_;
  std::multimap<double, std::uint64_t> timers_;
  std::thread thread_;
};

Relay::Relay(Options options) : options_(std::move(options)) {}

Relay::~Relay() { stop(); }

Result<std::unique_ptr<Relay>> Relay::start(Options options) {
  std::unique_ptr<Relay> relay(new Relay(std::move(options)));
  for (std::uint32_t i = 0; i < kGreeters + kLoops; ++i)
    relay->loops_.push_back(RG_TRY(Loop::start(*relay)));
  return relay;
}

void Relay::take(Fd outer, std::uint64_t connection, const sockaddr_storage& peer) {
  auto taken = std::make_unique<Connection>(connection, peer, std::move(outer),
                                            options_.tls ? options_.tls() : nullptr);
  loops_.at(next_greeter_++ % kGreeters)->post(std::move(taken));
}

void Relay::close() {
  const std::lock_guard lock(introducing_);
  closed_ = true;
}

// The loops of handshakes first: they post to the others.
void Relay::stop() {
  close();
  for (const auto& loop : loops_) loop->stop();
}

Relay::Counts Relay::counts() const {
  return {.open = open_, .broken = broken_, .paused = paused_, .failed = failed_};
}

// The allowance is shared by the connections of a certificate; without one by those of an address.
void Relay::identify(Connection& connection) {
  std::string peer = connection.host;
  if (options_.tls) {
    if (auto certificate = connection.passage.certificate()) {
      connection.certificate = std::move(*certificate);
      peer = connection.party =
          connection.certificate->id.issuer + '/' + connection.certificate->id.serial;
    }
  }
  connection.passage.admit(allowance_of(peer, now_seconds()));
}

std::shared_ptr<Allowance> Relay::allowance_of(const std::string& peer, double now) {
  const std::lock_guard lock(mutex_);
  if (allowances_.size() >= sweep_at_) {
    std::erase_if(allowances_, [now](const auto& entry) {
      return entry.second.use_count() == 1 && entry.second->is_full(now);
    });
    sweep_at_ = std::max<std::size_t>(1'024, allowances_.size() * 2);
  }
  std::shared_ptr<Allowance>& kept = allowances_[peer];
  if (kept == nullptr) kept = std::make_shared<Allowance>(now);
  return kept;
}

// Makes the socket pair and gives gRPC its end. False: the connection has to end.
bool Relay::introduce(Connection& connection) {
  if (options_.tls && !connection.certificate) return false;
  const std::lock_guard lock(introducing_);
  if (closed_) return false;
  auto pair = options_.make_pair(connection.id, connection.party);
  if (!pair) {
    note(connection, pair.error().message);
    return false;
  }
  const std::string name = give_name(pair->first.get());
  if (name.empty()) {
    note(connection, fmt::format("bind: {}", std::strerror(errno)));
    return false;
  }
  connection.name = "unix-abstract:" + name;
  connection.passage.open(std::move(pair->first));
  ++open_;
  options_.introduce(connection.name,
                     {.connection = connection.id,
                      .address = connection.address,
                      .certificate = connection.certificate},
                     std::move(pair->second));
  return true;
}

void Relay::ended(const Connection& connection) {
  const std::string& reason = connection.passage.reason();
  if (!connection.name.empty()) {
    options_.leave(connection.name);
    --open_;
  }
  if (reason.empty()) return;
  ++(connection.passage.is_known() ? broken_ : failed_);
  note(connection, reason);
}

// One line a minute, whatever the peers do.
void Relay::note(const Connection& connection, std::string_view event) {
  const auto events = line_.note(now_seconds());
  if (!events) return;
  const Counts sum = counts();
  spdlog::warn(
      "connection of {}{}: {}; {} such events since the last line; since the start {} broke a rule "
      "of HTTP/2, {} did not get through their handshake, {} pauses",
      connection.address,
      connection.certificate ? ", serial " + connection.certificate->id.serial : "", event, *events,
      sum.broken, sum.failed, sum.paused);
}

}  // namespace railgauge::relay
