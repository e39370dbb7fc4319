// Accepts shims, checks what each asks for, and carries output and exit codes back to them.
#include "kernels/launch/node/launch_service.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <fmt/format.h>

#include "kernels/core/base/clock.h"
#include "kernels/core/group/framing.h"
#include "kernels/core/text/text.h"

namespace railgauge {
namespace {

// The limit for a shim that does not read. It is then dropped, since the rest of a cut frame is
// useless.
constexpr double kWriteSeconds = 2;
// One read from a shim.
constexpr std::size_t kRequestReadBytes = 16U << 10U;

// Writes a frame. False: the shim does not read or is gone.
bool write_frame(int socket, launch::Kind kind, std::string_view bytes) {
  return write_all(socket, launch::encode(kind, bytes), kWriteSeconds).has_value();
}

}  // namespace

// The folder of the path decides who may connect; is_own_user() checks it once more.
Result<Fd> listen_at_path(const std::string& path) {
  sockaddr_un address{};
  if (!launch::name_socket(path, address)) return invalid("{}: too long for a socket's name", path);
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the interface of sockets
  const auto* name = reinterpret_cast<const sockaddr*>(&address);
  if (!socket || ::bind(socket.get(), name, sizeof address) != 0 ||
      ::listen(socket.get(), SOMAXCONN) != 0)
    return fail(Code::kUnavailable, "{}: listen: {}", path, std::strerror(errno));
  return socket;
}

// SO_PEERCRED names the user that called connect(2).
bool is_own_user(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         peer.uid == ::geteuid();
}

// Connections above the bound wait in the listen queue.
void LaunchService::accept() {
  while (shims_.size() < kMostShims) {
    Fd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) return;
    if (!is_own_user(socket.get())) {
      hooks_.refused("launch shim: a process of another user; refused");
      continue;
    }
    shims_.emplace(next_number_++, Shim{.socket = std::move(socket), .decoder = {}});
  }
}

// A shim that is gone takes its daemon with it, as an ssh connection would.
void LaunchService::service() {
  accept();
  for (auto it = shims_.begin(); it != shims_.end();) {
    if (read(it->first, it->second)) {
      ++it;
      continue;
    }
    if (it->second.asked) end_daemon(it->first);  // the shim is finished
    it = shims_.erase(it);
  }
}

// Sends a signal to the shim's daemon, on whatever node it runs.
void LaunchService::end_daemon(std::uint32_t number) {
  LaunchSignal signal;
  signal.set_number(number);
  hooks_.signal(std::move(signal));
}

// Always false: the caller drops the shim.
bool LaunchService::turn_away(const std::string& what) {
  hooks_.refused(fmt::format("launch shim: {}; refused", what));
  return false;
}

// Reads until the socket has no more.
bool LaunchService::read(std::uint32_t number, Shim& shim) {
  std::array<char, kRequestReadBytes> bytes;
  for (;;) {
    const ssize_t got = ::read(shim.socket.get(), bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return true;
    if (got <= 0) return false;  // killed
    shim.decoder.feed({bytes.data(), static_cast<std::size_t>(got)});
    while (const auto frame = shim.decoder.next())
      if (!take(number, shim, *frame)) return false;
    if (shim.decoder.garbage()) return turn_away("bytes that are no shim's");
  }
}

// kPermissionDenied for a request that the grammar or the lease does not allow.
Result<LaunchAsk> LaunchService::checked(std::uint32_t number, const std::string& bytes) const {
  if (bytes.size() > kMostAskBytes)
    return fail(Code::kPermissionDenied, "launch shim: too many words; refused");
  const auto words = launch::split_words(bytes);
  const auto command = RG_TRY(launch::read_daemon_command(words, options_.shim));
  RG_TRY_OK(launch::check_lease(command, options_.lease, monotonic_now_ns()));
  LaunchAsk ask;
  ask.set_number(number);
  ask.set_rank(options_.rank_of.at(command.node));
  for (const std::string& word : words) {
    if (valid_utf8(word) != word)
      return fail(Code::kPermissionDenied, "launch shim: a word that is no text; refused");
    ask.add_words(word);
  }
  return ask;
}

// A shim asks once; afterwards it only passes signals on.
bool LaunchService::take(std::uint32_t number, Shim& shim, const launch::Frame& frame) {
  if (frame.kind == launch::Kind::kSignal && shim.asked) {
    end_daemon(number);
    return true;
  }
  if (frame.kind != launch::Kind::kAsk) return turn_away("a word out of turn");
  if (shim.asked) return turn_away("a second daemon for one shim");
  auto ask = checked(number, frame.bytes);
  if (!ask) {
    hooks_.refused(ask.error().message);
    static_cast<void>(write_frame(shim.socket.get(), launch::Kind::kRefused, ask.error().message));
    return false;
  }
  shim.asked = ask->rank();
  hooks_.ask(std::move(*ask));
  return true;
}

// A shim is dropped with the last news of its daemon. A shim that reads no more ends its daemon.
void LaunchService::forward(std::uint32_t rank, const LaunchNews& news) {
  const auto found = shims_.find(news.number());
  if (found == shims_.end() || found->second.asked != rank) return;
  const int socket = found->second.socket.get();
  const bool reads = (news.out().empty() || write_frame(socket, launch::Kind::kOut, news.out())) &&
                     (news.err().empty() || write_frame(socket, launch::Kind::kErr, news.err()));
  if (!news.refused().empty()) {
    hooks_.refused(news.refused());
    if (reads) static_cast<void>(write_frame(socket, launch::Kind::kRefused, news.refused()));
  } else if (news.has_wait_status()) {
    const int status = news.wait_status();
    const bool killed = WIFSIGNALED(status);
    if (reads)
      static_cast<void>(
          write_frame(socket, killed ? launch::Kind::kKilled : launch::Kind::kExit,
                      fmt::format("{}", killed ? WTERMSIG(status) : WEXITSTATUS(status))));
  } else if (reads) {
    return;
  } else {
    end_daemon(news.number());
  }
  shims_.erase(found);
}

void LaunchService::add_to(std::vector<pollfd>& set) const {
  set.push_back({listener_.get(), POLLIN, 0});
  for (const auto& [number, shim] : shims_) set.push_back({shim.socket.get(), POLLIN, 0});
}

}  // namespace railgauge
