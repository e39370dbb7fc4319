// Frames between the shim and the task's runner over a unix socket: a kind, a length and bytes.
// Uses the standard library only, since the shim links nothing else.
#pragma once

#include <sys/un.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace railgauge::launch {

inline constexpr const char* kSocketVariable = "RAILGAUGE_LAUNCH_SOCKET";
// The exit code of ssh for a failed start: the launcher's daemon could not be started.
inline constexpr int kRefusedExit = 255;

enum class Kind : char {
  kAsk = 'a',     // shim: the launcher's words, each with a NUL behind it
  kSignal = 's',  // shim: a signal's number, for the daemon
  kOut = 'o',     // runner: the daemon's stdout
  kErr = 'e',     // runner: the daemon's stderr
  kExit = 'x',    // runner, last: its exit code
  kKilled = 'k',  // runner, last: the signal that ended it
  kRefused = 'r'  // runner, last: the reason of a refusal, one line
};

// One message either way.
struct Frame {
  Kind kind = Kind::kAsk;
  std::string bytes;
};

// Fills in the address of a unix socket. False, with ENAMETOOLONG: the path exceeds 107 bytes.
bool name_socket(std::string_view path, sockaddr_un& address);
// Returns a stream connected to the unix socket at `path`; -1 with errno set, as connect(2).
int connect_to(std::string_view path);

// The most bytes of one frame, in either direction.
inline constexpr std::size_t kMaxWireBytes = 256U << 10U;

// Returns the frame as bytes of the wire.
std::string encode(Kind kind, std::string_view bytes);
// Encode and decode the payload of kAsk.
std::string join_words(const std::vector<std::string>& words);
std::vector<std::string> split_words(std::string_view bytes);

// An assembler of frames from a stream of bytes.
class Decoder {
 public:
  void feed(std::string_view bytes) { buffer_.append(bytes); }
  // Returns the next frame; absent: more bytes are needed, or garbage() is true, for good.
  std::optional<Frame> next();
  [[nodiscard]] bool garbage() const { return garbage_; }

 private:
  std::string buffer_;
  bool garbage_ = false;
};

}  // namespace railgauge::launch
