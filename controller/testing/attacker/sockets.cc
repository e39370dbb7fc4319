// Raw TCP connections: idle ones, half handshakes, openings at a rate. Only loopback is allowed.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <deque>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "controller/testing/attacker/attacks.h"
#include "kernels/core/base/fd.h"

namespace railgauge::attacker {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point from) {
  return std::chrono::duration<double>(Clock::now() - from).count();
}

// The address in "127.0.0.1:7443". Other networks are refused: this program attacks its own host
// only.
sockaddr_in loopback_address(const std::string& target) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  const std::size_t colon = target.rfind(':');
  const std::string host = target.substr(0, colon);
  const bool sound = colon != std::string::npos &&
                     ::inet_pton(AF_INET, host.c_str(), &address.sin_addr) == 1 &&
                     (ntohl(address.sin_addr.s_addr) >> 24) == 127;
  if (!sound) {
    fmt::print(stderr, "railgauge-attacker: --to={}: 127.x.x.x:PORT is needed\n", target);
    std::exit(2);
  }
  address.sin_port = htons(static_cast<std::uint16_t>(std::atoi(target.c_str() + colon + 1)));
  return address;
}

// The source of connection number i: 127.0.1.1 and so on, as many as `sources`; 0 leaves it open.
void bind_source(int fd, int i, int sources) {
  if (sources <= 0) return;
  constexpr int kNoPort = 1;
  ::setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &kNoPort, sizeof(kNoPort));
  sockaddr_in source{};
  source.sin_family = AF_INET;
  source.sin_addr.s_addr = htonl(0x7f000101U + static_cast<std::uint32_t>(i % sources));
  // A source that is taken leaves the choice to the kernel.
  (void)::bind(fd, reinterpret_cast<const sockaddr*>(&source), sizeof(source));
}

// A connection that is being opened; empty where no descriptor is left or it is refused at once.
Fd begin_connection(const sockaddr_in& to, int i, int sources) {
  Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return fd;
  bind_source(fd.get(), i, sources);
  const int result = ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof(to));
  if (result != 0 && errno != EINPROGRESS) fd.reset();
  return fd;
}

// Whether the handshake of TCP ends within so long.
bool established(int fd, int milliseconds) {
  pollfd set{fd, POLLOUT, 0};
  if (::poll(&set, 1, milliseconds) != 1) return false;
  int error = 0;
  socklen_t size = sizeof(error);
  return ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
}

// A whole ClientHello of TLS 1.3 that offers HTTP/2, to which a server answers and then waits.
std::string client_hello() {
  using namespace std::string_view_literals;
  std::string extensions;
  extensions += "\x00\x2b\x00\x03\x02\x03\x04"sv;              // supported versions
  extensions += "\x00\x0a\x00\x04\x00\x02\x00\x1d"sv;          // groups: x25519
  extensions += "\x00\x0d\x00\x04\x00\x02\x04\x03"sv;          // signatures: ECDSA P-256
  extensions += "\x00\x10\x00\x05\x00\x03\x02h2"sv;            // ALPN
  extensions += "\x00\x33\x00\x26\x00\x24\x00\x1d\x00\x20"sv;  // key share
  extensions += std::string(32, '\x09');
  const auto sized = [](std::size_t bytes, std::size_t size) {
    std::string text;
    for (std::size_t i = bytes; i-- > 0;) text.push_back(static_cast<char>(size >> (8 * i)));
    return text;
  };
  std::string body = "\x03\x03" + std::string(32, '\x2a');
  body += "\x00\x00\x02\x13\x01\x01\x00"sv;  // no session, one cipher, no compression
  body += sized(2, extensions.size()) + extensions;
  const std::string message = "\x01" + sized(3, body.size()) + body;
  return "\x16\x03\x01" + sized(2, message.size()) + message;
}

std::string first_bytes(const std::string& what) {
  const std::string hello = client_hello();
  if (what == "half") return hello.substr(0, hello.size() / 2);
  return what == "hello" ? hello : "";
}

// How many the other side has closed by now.
int closed_by_peer(const std::vector<Fd>& connections) {
  int closed = 0;
  for (const Fd& fd : connections) {
    std::array<char, 4096> chunk{};
    ssize_t n = 0;
    while ((n = ::recv(fd.get(), chunk.data(), chunk.size(), MSG_DONTWAIT)) > 0) {
    }
    if (n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) ++closed;
  }
  return closed;
}

// A reset, so that no port waits for minutes after its use.
void close_hard(Fd fd) {
  const linger now{1, 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

}  // namespace

void wait_for_end_of_input(double seconds) {
  const auto from = Clock::now();
  while (seconds_since(from) < seconds) {
    pollfd set{STDIN_FILENO, POLLIN, 0};
    if (::poll(&set, 1, 100) != 1) continue;
    std::array<char, 256> chunk{};
    if (::read(STDIN_FILENO, chunk.data(), chunk.size()) <= 0) return;
  }
}

// The ports are below the range that outgoing connections take theirs from, and stay bound until
// all are found: two programs of one test never get the same one.
int free_ports(const Arguments& arguments) {
  constexpr std::uint16_t kFirst = 20000;
  constexpr std::uint16_t kLast = 32000;
  constexpr int kMostTries = 10'000;
  std::random_device random;
  std::uniform_int_distribution<std::uint16_t> choice(kFirst, kLast);
  const int wanted = arguments.count("count", 1);
  std::vector<Fd> bound;
  std::vector<std::uint16_t> ports;
  for (int i = 0; i < kMostTries && static_cast<int>(ports.size()) < wanted; ++i) {
    const std::uint16_t port = choice(random);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!fd || ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
      continue;
    bound.push_back(std::move(fd));
    ports.push_back(port);
  }
  if (static_cast<int>(ports.size()) < wanted) return 4;
  say("{}", fmt::join(ports, " "));
  return 0;
}

int hold_connections(const Arguments& arguments) {
  const sockaddr_in to = loopback_address(arguments.text("to"));
  const std::string bytes = first_bytes(arguments.text("send", "nothing"));
  std::vector<Fd> connections;
  int failed = 0;
  constexpr int kPatienceMs = 300;  // a full backlog answers nothing
  for (int i = 0; i < arguments.count("count", 1); ++i) {
    Fd fd = begin_connection(to, i, arguments.count("sources", 0));
    // One that the backlog has no room for stays: its handshake comes when room is made.
    if (!fd || !established(fd.get(), failed == 0 ? kPatienceMs : 1)) ++failed;
    if (!fd) continue;
    if (!bytes.empty())
      static_cast<void>(::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
    connections.push_back(std::move(fd));
  }
  say("held {} unanswered {}", connections.size(), failed);
  wait_for_end_of_input(arguments.number("hold", 60));
  say("closed_by_peer {} of {}", closed_by_peer(connections), connections.size());
  return 0;
}

int open_at_rate(const Arguments& arguments) {
  const sockaddr_in to = loopback_address(arguments.text("to"));
  const std::string bytes = first_bytes(arguments.text("send", "nothing"));
  const double rate = arguments.number("rate", 1000);
  const double seconds = arguments.number("seconds", 5);
  const auto keep = static_cast<std::size_t>(arguments.count("keep", 500));
  std::deque<Fd> open;
  int opened = 0;
  int failed = 0;
  const auto from = Clock::now();
  while (seconds_since(from) < seconds) {
    const int due = static_cast<int>(seconds_since(from) * rate);
    for (; opened + failed < due;) {
      Fd fd = begin_connection(to, opened, arguments.count("sources", 0));
      if (!fd) {
        ++failed;
        continue;
      }
      ++opened;
      open.push_back(std::move(fd));
      if (open.size() <= keep) continue;
      if (!bytes.empty())
        static_cast<void>(::send(open.front().get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
      close_hard(std::move(open.front()));
      open.pop_front();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  say("opened {} failed {} in {:.1f} s", opened, failed, seconds_since(from));
  while (!open.empty()) {
    close_hard(std::move(open.front()));
    open.pop_front();
  }
  return 0;
}

}  // namespace railgauge::attacker
