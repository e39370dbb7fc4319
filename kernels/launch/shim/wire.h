// Frames between the shim and the runner that holds the task, over their unix socket: a kind, a
// length and bytes. The standard library alone, since the shim has nothing else.
#pragma once

#include <sys/un.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace railgauge::launch {

inline constexpr const char* kSocketVariable = "RAILGAUGE_LAUNCH_SOCKET";
// As ssh has it: the launcher's daemon could not be started.
inline constexpr int kRefusedExit = 255;

enum class Kind : char {
  kAsk = 'a',     // shim: the launcher's words, each with a NUL behind it
  kSignal = 's',  // shim: a signal's number, for the daemon
  kOut = 'o',     // runner: what the daemon said on stdout
  kErr = 'e',     // ... on stderr
  kExit = 'x',    // runner, last: its exit code
  kKilled = 'k',  // runner, last: the signal that ended it
  kRefused = 'r'  // runner, last: why it was not started, one line
};

// One message either way.
struct Frame {
  Kind kind = Kind::kAsk;
  std::string bytes;
};

// The name of a unix socket. False, with ENAMETOOLONG, where the path does not fit (108 bytes).
bool name_socket(std::string_view path, sockaddr_un& address);
// A stream connected to the unix socket there; -1 with errno set, as connect(2).
int connect_to(std::string_view path);

// The most bytes of one frame, in either direction.
inline constexpr std::size_t kMaxWireBytes = 256U << 10U;

// The frame as bytes of the wire.
std::string encode(Kind kind, std::string_view bytes);
// The payload of kAsk, and the way back.
std::string join_words(const std::vector<std::string>& words);
std::vector<std::string> split_words(std::string_view bytes);

// Takes bytes as they come, gives whole frames.
class Decoder {
 public:
  void feed(std::string_view bytes) { buffer_.append(bytes); }
  // Nothing: more bytes are needed, or garbage() is true and stays so.
  std::optional<Frame> next();
  [[nodiscard]] bool garbage() const { return garbage_; }

 private:
  std::string buffer_;
  bool garbage_ = false;
};

}  // namespace railgauge::launch
