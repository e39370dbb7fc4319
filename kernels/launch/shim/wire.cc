// A frame is a kind of one byte, a length of four bytes, and the bytes.
#include "kernels/launch/shim/wire.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

namespace railgauge::launch {
namespace {

// All letters of Kind.
constexpr std::string_view kKinds = "asoexkr";
constexpr std::size_t kHeadBytes = 1 + sizeof(std::uint32_t);

}  // namespace

bool name_socket(std::string_view path, sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  if (path.size() < sizeof address.sun_path) {
    path.copy(&address.sun_path[0], path.size());
    return true;
  }
  errno = ENAMETOOLONG;
  return false;
}

int connect_to(std::string_view path) {
  sockaddr_un address{};
  if (!name_socket(path, address)) return -1;
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the interface of sockets
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
  const int why = errno;
  ::close(fd);
  errno = why;
  return -1;
}

std::string encode(Kind kind, std::string_view bytes) {
  const auto length = static_cast<std::uint32_t>(bytes.size());
  std::string out(kHeadBytes, '\0');
  out[0] = static_cast<char>(kind);
  std::memcpy(&out[1], &length, sizeof length);  // both ends are of one machine
  out.append(bytes);
  return out;
}

// A NUL cannot be part of an argument, so it separates them.
std::string join_words(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out.append(word).push_back('\0');
  return out;
}

// A last word without its NUL counts as well.
std::vector<std::string> split_words(std::string_view bytes) {
  std::vector<std::string> words;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\0');
    words.emplace_back(bytes.substr(0, end));
    if (end == std::string_view::npos) break;
    bytes.remove_prefix(end + 1);
  }
  return words;
}

// An unknown kind or a length above the bound cannot be skipped: the stream has lost its frames.
std::optional<Frame> Decoder::next() {
  if (garbage_ || buffer_.size() < kHeadBytes) return std::nullopt;
  std::uint32_t length = 0;
  std::memcpy(&length, &buffer_[1], sizeof length);
  if (kKinds.find(buffer_[0]) == std::string_view::npos || length > kMaxWireBytes) {
    garbage_ = true;
    return std::nullopt;
  }
  if (buffer_.size() < kHeadBytes + length) return std::nullopt;
  Frame frame{static_cast<Kind>(buffer_[0]), buffer_.substr(kHeadBytes, length)};
  buffer_.erase(0, kHeadBytes + length);
  return frame;
}

}  // namespace railgauge::launch
