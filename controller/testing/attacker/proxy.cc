// A partition at will: forwards one loopback port to another, and cuts, delays, spoils or falls
// silent when a line of stdin says so, or when a message of a phase is about to pass. It reads the
// frames of plain HTTP/2 as far as the first byte of each gRPC message, which names the message's
// kind.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/testing/attacker/attacks.h"
#include "kernels/core/base/fd.h"

namespace railgauge::attacker {
namespace {

using Clock = std::chrono::steady_clock;

// A phase of a task, by the message that begins or ends it: its direction and the number of its
// field in AgentMessage or ControllerMessage (controller/api/agent.proto).
struct Phase {
  std::string_view name;
  bool up;
  int field;
};
constexpr std::array<Phase, 7> kPhases{{{"prepare", false, 3},
                                        {"prepared", true, 2},
                                        {"go", false, 4},
                                        {"step", true, 4},
                                        {"answer", false, 5},
                                        {"records", true, 5},
                                        {"ack", false, 7}}};

// Finds the messages in one direction of an HTTP/2 connection. Takes bytes in any pieces.
class MessageFinder {
 public:
  explicit MessageFinder(bool up) : skip_(up ? kPrefaceBytes : 0) {}

  // The field number of a message that begins within `bytes`; absent when none does. `at` is the
  // offset from which nothing may pass if the message shall not.
  struct Found {
    int field;
    std::size_t at;
  };
  std::optional<Found> take(std::string_view bytes, int wanted) {
    std::optional<Found> found;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const auto byte = static_cast<unsigned char>(bytes[i]);
      if (skip_ > 0) {
        --skip_;
        continue;
      }
      if (payload_ == 0) {
        take_header(byte, i);
        continue;
      }
      --payload_;
      if (!is_data_) continue;
      if (const auto field = take_data(byte); field && *field == wanted && !found)
        found = Found{*field, std::min(frame_at_, i)};
    }
    frame_at_ = 0;  // the frame that is open now began in earlier bytes
    return found;
  }

 private:
  static constexpr std::size_t kPrefaceBytes = 24;  // "PRI * HTTP/2.0..." of the client
  static constexpr std::size_t kHeaderBytes = 9;

  void take_header(unsigned char byte, std::size_t at) {
    if (header_.empty()) frame_at_ = at;
    header_.push_back(byte);
    if (header_.size() < kHeaderBytes) return;
    payload_ = (std::size_t{header_[0]} << 16U) | (std::size_t{header_[1]} << 8U) | header_[2];
    is_data_ = header_[3] == 0;
    stream_ = (std::uint32_t{header_[5]} << 24U) | (std::uint32_t{header_[6]} << 16U) |
              (std::uint32_t{header_[7]} << 8U) | header_[8];
    header_.clear();
  }

  // gRPC: one byte, four of length, the message, whose first byte is a field's number times 8.
  std::optional<int> take_data(unsigned char byte) {
    Message& message = messages_[stream_];
    if (message.left > 0) {
      --message.left;
      const bool first = message.fresh;
      message.fresh = false;
      return first ? std::optional(byte >> 3U) : std::nullopt;
    }
    message.prefix.push_back(byte);
    if (message.prefix.size() < 5) return std::nullopt;
    for (std::size_t i = 1; i < 5; ++i) message.left = (message.left << 8U) | message.prefix[i];
    message.prefix.clear();
    message.fresh = true;
    return std::nullopt;
  }

  struct Message {
    std::vector<unsigned char> prefix{};
    std::size_t left = 0;
    bool fresh = false;
  };
  std::size_t skip_;
  std::vector<unsigned char> header_{};
  std::size_t payload_ = 0;
  bool is_data_ = false;
  std::uint32_t stream_ = 0;
  std::size_t frame_at_ = 0;
  std::map<std::uint32_t, Message> messages_{};
};

// Returns the bytes with the frame at `at` in them twice. Empty: the frame is not whole, or is not
// one gRPC message. A receiver takes the copy for a message of its own: HTTP/2 numbers streams and
// not frames, and the few bytes are within the window that the sender does not know of.
std::string with_frame_again(std::string_view bytes, std::size_t at) {
  constexpr std::size_t kHead = 9;
  constexpr std::size_t kPrefix = 5;
  if (bytes.size() < at + kHead + kPrefix) return "";
  const auto number = [&](std::size_t from, std::size_t count) {
    std::size_t value = 0;
    for (std::size_t i = 0; i < count; ++i)
      value = (value << 8U) | static_cast<unsigned char>(bytes[from + i]);
    return value;
  };
  const std::size_t length = number(at, 3);
  const std::size_t end = at + kHead + length;
  const bool is_one_message = bytes[at + 3] == 0 && number(at + kHead + 1, 4) + kPrefix == length;
  if (!is_one_message || bytes.size() < end) return "";
  std::string twice(bytes.substr(0, end));
  twice += bytes.substr(at, end - at);
  twice += bytes.substr(end);
  return twice;
}

// One direction of a connection: bytes that wait to be written, each piece with its due time.
struct Lane {
  explicit Lane(bool is_up) : up(is_up), finder(is_up) {}
  bool up;
  MessageFinder finder;
  std::string pending{};
  // Bytes that are to follow the next ones. Where none come, heal ends the connection.
  std::string held{};
  Clock::time_point due{};
};

struct Connection {
  Fd client;
  Fd server;
  Lane up{true};
  Lane down{false};
  bool over = false;
};

Fd connect_to(const sockaddr_in& to) {
  Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (fd && ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof(to)) != 0)
    fd.reset();
  return fd;
}

void make_quick(const Fd& fd) {
  constexpr int kOn = 1;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &kOn, sizeof(kOn));
  ::fcntl(fd.get(), F_SETFL, O_NONBLOCK);
}

sockaddr_in address_of(const std::string& text) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  const std::size_t colon = text.rfind(':');
  ::inet_pton(AF_INET, text.substr(0, colon).c_str(), &address.sin_addr);
  address.sin_port = htons(static_cast<std::uint16_t>(std::atoi(text.c_str() + colon + 1)));
  return address;
}

class Proxy {
 public:
  explicit Proxy(const Arguments& arguments) : to_(address_of(arguments.text("to"))) {
    const sockaddr_in here = address_of(arguments.text("listen"));
    listener_.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    constexpr int kOn = 1;
    ::setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &kOn, sizeof(kOn));
    if (::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&here), sizeof(here)) != 0 ||
        ::listen(listener_.get(), 16) != 0)
      listener_.reset();
  }
  [[nodiscard]] bool listens() const { return static_cast<bool>(listener_); }

  void run() {
    say("ready");
    while (turn()) {
    }
  }

 private:
  bool turn() {
    std::vector<pollfd> set{{STDIN_FILENO, POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    for (const Connection& connection : connections_) {
      set.push_back({connection.client.get(), events(connection.up, connection.down), 0});
      set.push_back({connection.server.get(), events(connection.down, connection.up), 0});
    }
    constexpr int kTurnMs = 20;  // delayed bytes are looked at so often
    ::poll(set.data(), static_cast<nfds_t>(set.size()), kTurnMs);
    if (set[0].revents != 0 && !read_orders()) return false;
    std::size_t at = 2;
    for (Connection& connection : connections_) {
      const bool from_client = set[at++].revents != 0;
      const bool from_server = set[at++].revents != 0;
      if (silent_) continue;
      if (from_client) read(connection, connection.client, connection.up);
      if (from_server && !connection.over && !silent_)
        read(connection, connection.server, connection.down);
      if (!connection.over) write(connection, connection.server, connection.up);
      if (!connection.over) write(connection, connection.client, connection.down);
    }
    connections_.remove_if([](const Connection& connection) { return connection.over; });
    if (set[1].revents != 0) accept_one();
    return true;
  }

  // Events of the socket that `in` reads from and `out` writes to.
  [[nodiscard]] short events(const Lane& in, const Lane& out) const {
    if (silent_) return 0;
    const bool waits = !out.pending.empty() && Clock::now() >= out.due;
    return static_cast<short>((in.pending.empty() ? POLLIN : 0) | (waits ? POLLOUT : 0));
  }

  void accept_one() {
    Fd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!client || cut_) return;  // closed at once
    Fd server = connect_to(to_);
    if (!server) return;
    make_quick(client);
    make_quick(server);
    Connection& connection = connections_.emplace_back();
    connection.client = std::move(client);
    connection.server = std::move(server);
  }

  void read(Connection& connection, Fd& from, Lane& lane) {
    if (!lane.pending.empty()) return;
    std::array<char, 65'536> chunk{};
    const ssize_t n = ::recv(from.get(), chunk.data(), chunk.size(), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) {
      connection.over = true;
      return;
    }
    const std::string_view bytes(chunk.data(), static_cast<std::size_t>(n));
    const bool armed = armed_ && armed_->up == lane.up;
    const auto found = lane.finder.take(bytes, armed ? armed_->field : -1);
    lane.due = Clock::now() + delay_;
    if (!found || then_ == "again") {
      lane.pending = bytes;
      if (found) repeat(lane, found->at);
      spoil(lane);
      return;
    }
    lane.pending = bytes.substr(0, found->at);
    say("triggered {}", armed_->name);
    armed_.reset();
    if (then_ == "half")
      silent_ = true;
    else
      cut();
  }

  // Lets the message at `at` pass twice; waits for another one where its frame is not whole.
  void repeat(Lane& lane, std::size_t at) {
    std::string twice = with_frame_again(lane.pending, at);
    if (twice.empty()) return;
    lane.pending = std::move(twice);
    say("triggered {}", armed_->name);
    armed_.reset();
  }

  // Changes the bytes that were just read, once: one bit, all of them twice, or after the next
  // ones.
  void spoil(Lane& lane) {
    if (!lane.held.empty()) lane.pending += std::exchange(lane.held, "");
    if (spoil_.empty() || spoil_up_ != lane.up) return;
    say("triggered {}", spoil_);
    if (spoil_ == "flip") lane.pending[lane.pending.size() / 2] ^= 4;
    if (spoil_ == "double") lane.pending += std::string(lane.pending);
    if (spoil_ == "swap") lane.held = std::exchange(lane.pending, "");
    spoil_.clear();
  }

  static void write(Connection& connection, Fd& to, Lane& lane) {
    if (lane.pending.empty() || Clock::now() < lane.due) return;
    const ssize_t n =
        ::send(to.get(), lane.pending.data(), lane.pending.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n > 0) lane.pending.erase(0, static_cast<std::size_t>(n));
    if (n < 0 && errno != EAGAIN && errno != EINTR) connection.over = true;
  }

  void cut() {
    cut_ = true;
    for (Connection& connection : connections_) connection.over = true;
  }

  // False at the end of stdin.
  bool read_orders() {
    std::array<char, 4'096> chunk{};
    const ssize_t n = ::read(STDIN_FILENO, chunk.data(), chunk.size());
    if (n <= 0) return false;
    orders_.append(chunk.data(), static_cast<std::size_t>(n));
    for (std::size_t end = 0; (end = orders_.find('\n')) != std::string::npos;) {
      obey(orders_.substr(0, end));
      orders_.erase(0, end + 1);
    }
    return true;
  }

  void obey(const std::string& line) {
    std::istringstream words(line);
    std::string verb;
    words >> verb;
    if (verb == "cut") cut();
    if (verb == "half") silent_ = true;
    if (verb == "delay") {
      int milliseconds = 0;
      words >> milliseconds;
      delay_ = std::chrono::milliseconds(milliseconds);
    }
    if (verb == "arm") {
      std::string phase;
      words >> phase >> then_;
      armed_.reset();
      for (const Phase& known : kPhases)
        if (known.name == phase) armed_ = known;
    }
    if (verb == "spoil") {
      std::string way;
      words >> spoil_ >> way;
      spoil_up_ = way == "up";
    }
    if (verb == "heal") {
      // Both sides of a silent connection dial anew, and those that wait for bytes.
      for (Connection& connection : connections_)
        connection.over = connection.over || silent_ || !connection.up.held.empty() ||
                          !connection.down.held.empty();
      cut_ = silent_ = false;
      armed_.reset();
      spoil_.clear();
      delay_ = {};
    }
    say("did {}", line);
  }

  const sockaddr_in to_;
  Fd listener_;
  std::list<Connection> connections_;
  std::string orders_;
  std::optional<Phase> armed_;
  std::string then_;
  // "flip", "double" or "swap" for the next bytes of one direction; "": none.
  std::string spoil_;
  bool spoil_up_ = false;
  std::chrono::milliseconds delay_{};
  bool cut_ = false;
  bool silent_ = false;
};

}  // namespace

int run_proxy(const Arguments& arguments) {
  Proxy proxy(arguments);
  if (!proxy.listens()) {
    fmt::print(stderr, "railgauge-attacker: --listen={}: not bound\n", arguments.text("listen"));
    return 4;
  }
  proxy.run();
  return 0;
}

}  // namespace railgauge::attacker
