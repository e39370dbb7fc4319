#include "controller/listen/unix_listener.h"

#include <grp.h>
#include <grpcpp/server_posix.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "controller/fleet/event_loop.h"

namespace railgauge {
namespace {

constexpr mode_t kSocketMode = 0660;
// With --socket-group its members connect whatever their primary group is; credentials decide.
constexpr mode_t kOpenSocketMode = 0666;

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path))
    return fail(Code::kInvalidArgument,
                fmt::format("--socket {}: a path of 1 to {} bytes is needed", path,
                            sizeof(address.sun_path) - 1));
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

// Removes the socket of a controller that died.
Status clear_stale(const std::string& path, const sockaddr_un& address) {
  struct stat file {};
  if (::lstat(path.c_str(), &file) != 0) return {};
  if (!S_ISSOCK(file.st_mode))
    return fail(Code::kAlreadyExists,
                fmt::format("--socket {}: there is a file that is no socket", path));
  const Fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int connected =
      ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  if (connected == 0 || errno == EAGAIN)
    return fail(
        Code::kAlreadyExists,
        fmt::format("--socket {}: another controller answers there; stop it or choose another path",
                    path));
  if (errno != ECONNREFUSED)
    return fail(Code::kPermissionDenied,
                fmt::format("--socket {}: connect: {}", path, std::strerror(errno)));
  spdlog::info("{}: replacing the socket of a controller that is gone", path);
  ::unlink(path.c_str());
  return {};
}

Result<std::optional<gid_t>> group_id(const std::string& name) {
  if (name.empty()) return std::optional<gid_t>();
  constexpr std::size_t kBufferBytes = 65'536;
  group entry{};
  group* found = nullptr;
  std::string buffer(kBufferBytes, '\0');
  if (getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found) == 0 &&
      found != nullptr)
    return std::optional<gid_t>(entry.gr_gid);
  return fail(Code::kInvalidArgument, fmt::format("--socket-group {}: no such group", name));
}

}  // namespace

UnixListener::UnixListener(Fd socket, Fd wake, std::string path, std::optional<gid_t> group)
    : socket_(std::move(socket)), wake_(std::move(wake)), path_(std::move(path)), group_(group) {}

UnixListener::~UnixListener() { stop(); }

Result<std::unique_ptr<UnixListener>> UnixListener::open(const std::string& path,
                                                         const std::string& group) {
  const std::optional<gid_t> gid = RG_TRY(group_id(group));
  const sockaddr_un address = RG_TRY(address_of(path));
  RG_TRY_OK(clear_stale(path, address));
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  Fd wake(::eventfd(0, EFD_CLOEXEC));
  if (!socket || !wake)
    return fail(Code::kResourceExhausted,
                fmt::format("--socket {}: socket: {}", path, std::strerror(errno)));
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    return fail(errno == ENOENT ? Code::kNotFound : Code::kPermissionDenied,
                fmt::format("--socket {}: bind: {}; its folder must exist and be writable", path,
                            std::strerror(errno)));
  // The credentials decide. The mode only keeps strangers from filling the backlog.
  const mode_t mode = gid ? kOpenSocketMode : kSocketMode;
  if (::chmod(path.c_str(), mode) != 0 || ::listen(socket.get(), kBacklog) != 0)
    return fail(Code::kPermissionDenied,
                fmt::format("--socket {}: listen: {}", path, std::strerror(errno)));
  return std::unique_ptr<UnixListener>(
      new UnixListener(std::move(socket), std::move(wake), path, gid));
}

void UnixListener::start(grpc::Server& server, auth::PeerBook& peers, OnRefused on_refused) {
  on_refused_ = std::move(on_refused);
  thread_ = std::thread([this, &server, &peers] { accept_loop(server, peers); });
}

void UnixListener::stop() {
  if (!socket_) return;
  if (thread_.joinable()) {
    RG_CHECK(::eventfd_write(wake_.get(), 1) == 0);
    thread_.join();
  }
  ::unlink(path_.c_str());
  socket_.reset();
}

void UnixListener::accept_loop(grpc::Server& server, auth::PeerBook& peers) {
  constexpr int kFullMilliseconds = 100;  // no descriptor left: let some close
  constexpr int kLookMilliseconds = 1'000;
  while (true) {
    std::array<pollfd, 2> wait{pollfd{socket_.get(), POLLIN, 0}, pollfd{wake_.get(), POLLIN, 0}};
    if (::poll(wait.data(), wait.size(), kLookMilliseconds) < 0) continue;  // EINTR, no memory
    if (wait[1].revents != 0) return;
    if (wait[0].revents == 0) continue;
    Fd connection(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (connection) {
      admit(std::move(connection), server, peers);
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) {
      const char* cause = std::strerror(errno);
      if (const auto times = full_.note(fleet::monotonic_seconds()))
        spdlog::error("control socket: accept: {} ({} times since the last line)", cause, *times);
      ::poll(&wait[1], 1, kFullMilliseconds);
    }
  }
}

// Checks the credentials of one connection and hands it to gRPC.
void UnixListener::admit(Fd connection, grpc::Server& server, auth::PeerBook& peers) {
  const Result<auth::Credentials> peer = auth::credentials_of(connection.get());
  if (!peer) return spdlog::warn("{}", peer.error().message);
  if (!auth::may_connect(*peer, ::geteuid(), group_)) return refuse(peer->uid);
  peers.set(connection.get(), auth::user_name(peer->uid));
  grpc::AddInsecureChannelFromFd(&server, connection.release());
}

void UnixListener::refuse(uid_t uid) {
  const std::string name = auth::user_name(uid);
  const std::string cause =
      fmt::format("uid {} is neither root, the controller's user nor in --socket-group", uid);
  // A user may have 65,536 uids without a name. They are one peer.
  const bool is_known = name != fmt::format("uid {}", uid);
  on_refused_(is_known ? name : "unknown", {Code::kPermissionDenied, cause});
}

}  // namespace railgauge
