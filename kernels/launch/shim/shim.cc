// railgauge-launch-shim in the place of ssh: sends the launcher's words to the task's runner and
// copies the daemon's output until its end.
#include "kernels/launch/shim/shim.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "kernels/launch/shim/wire.h"

namespace railgauge::launch {
namespace {

// One read from the runner.
constexpr std::size_t kReadBytes = 16U << 10U;

// Prints one line on stderr, which the launcher shows; returns the exit code of a refusal.
int complain(const char* what, const std::string& why) {
  std::fprintf(stderr, "railgauge-launch-shim: %s: %s\n", what, why.c_str());
  return kRefusedExit;
}

// Writes all bytes, unless the reader is gone.
void write_whole(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;  // the reader is gone
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

// The signals that end a daemon, as a descriptor.
int signals_fd() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, signal);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  // A launcher passes the latter two on to its ranks by itself; here they would end a daemon.
  for (const int signal : {SIGPIPE, SIGUSR1, SIGUSR2}) ::signal(signal, SIG_IGN);
  return ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

// Handles a frame. Returns the exit code, or -1 before the last frame.
int take(const Frame& frame) {
  switch (frame.kind) {
    case Kind::kOut:
      write_whole(STDOUT_FILENO, frame.bytes);
      return -1;
    case Kind::kErr:
      write_whole(STDERR_FILENO, frame.bytes);
      return -1;
    case Kind::kExit:
      return std::atoi(frame.bytes.c_str()) & 0xff;
    case Kind::kKilled:
      die_of(std::atoi(frame.bytes.c_str()));
    case Kind::kRefused:
      return complain("refused", frame.bytes);
    case Kind::kAsk:
    case Kind::kSignal:
      break;
  }
  return complain("the task's runner", "says what it cannot mean");
}

// Sends signals to the runner and handles its frames until the last one; returns the exit code.
int relay(int socket, int signals) {
  Decoder decoder;
  std::array<char, kReadBytes> bytes;
  for (;;) {
    std::array<pollfd, 2> wait{pollfd{socket, POLLIN, 0}, pollfd{signals, POLLIN, 0}};
    if (::poll(wait.data(), wait.size(), -1) < 0 && errno != EINTR) return kRefusedExit;
    signalfd_siginfo signal{};
    if (wait[1].revents != 0 && ::read(signals, &signal, sizeof signal) == sizeof signal)
      write_whole(socket, encode(Kind::kSignal, std::to_string(signal.ssi_signo)));
    if (wait[0].revents == 0) continue;
    const ssize_t got = ::read(socket, bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return complain("the task's runner", "is gone, and the lease with it");
    decoder.feed({bytes.data(), static_cast<std::size_t>(got)});
    while (const auto frame = decoder.next())
      if (const int exit_code = take(*frame); exit_code >= 0) return exit_code;
    if (decoder.garbage()) return complain("the task's runner", "sends garbage");
  }
}

}  // namespace

// If the signal does not end the process, the exit code is 128 + `signal`.
void die_of(int signal) {
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal);
  ::signal(signal, SIG_DFL);
  ::sigprocmask(SIG_UNBLOCK, &one, nullptr);
  ::raise(signal);
  ::_exit(128 + signal);
}

// Refuses without the variable of a running task: a launcher that no task started has no lease.
int ask(const std::vector<std::string>& words) {
  const int signals = signals_fd();
  const char* path = std::getenv(kSocketVariable);
  if (path == nullptr || *path == '\0')
    return complain("refused", std::string("no task started this launcher: ") + kSocketVariable +
                                   " is not set");
  const int socket = connect_to(path);
  if (socket < 0)
    return complain("refused", std::string("no task holds a lease here any more: ") + path + ": " +
                                   std::strerror(errno));
  const std::string asked = join_words(words);
  if (asked.size() > kMaxWireBytes) return complain("refused", "its words are too long");
  write_whole(socket, encode(Kind::kAsk, asked));
  return relay(socket, signals);
}

}  // namespace railgauge::launch
