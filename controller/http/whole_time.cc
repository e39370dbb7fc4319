#include "controller/http/whole_time.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <cmath>

namespace railgauge::http {
namespace {

// A host with several addresses gets a new socket for each.
constexpr auto kPause = std::chrono::milliseconds(20);

}  // namespace

WholeTime::WholeTime(httplib::Client& client, double seconds)
    : end_(std::chrono::steady_clock::now() +
           std::chrono::duration_cast<std::chrono::steady_clock::duration>(
               std::chrono::duration<double>(seconds))),
      thread_([this] { run(); }) {
  constexpr double kMicroseconds = 1e6;
  const auto whole = static_cast<time_t>(seconds);
  const auto micro = static_cast<time_t>(std::fmod(seconds, 1.0) * kMicroseconds);
  client.set_connection_timeout(whole, micro);
  client.set_read_timeout(whole, micro);
  client.set_write_timeout(whole, micro);
  client.set_socket_options([this](socket_t socket) { watch(socket); });
}

WholeTime::~WholeTime() {
  {
    const std::lock_guard lock(mutex_);
    is_done_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

bool WholeTime::is_over() const {
  const std::lock_guard lock(mutex_);
  return is_over_;
}

// The client closes its socket by itself, and the number may be another file's by then: only a copy
// is shut down.
void WholeTime::watch(int socket) {
  const std::lock_guard lock(mutex_);
  socket_ = Fd(::fcntl(socket, F_DUPFD_CLOEXEC, 0));
}

void WholeTime::run() {
  std::unique_lock lock(mutex_);
  if (wake_.wait_until(lock, end_, [this] { return is_done_; })) return;
  is_over_ = true;
  do {
    if (socket_) ::shutdown(socket_.get(), SHUT_RDWR);
  } while (!wake_.wait_for(lock, kPause, [this] { return is_done_; }));
}

}  // namespace railgauge::http
