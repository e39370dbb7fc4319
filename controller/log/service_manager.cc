#include "controller/log/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "kernels/core/base/fd.h"
#include "kernels/core/text/text.h"

namespace railgauge {
namespace {

constexpr double kMicrosecondsPerSecond = 1e6;
constexpr double kNanosecondsPerSecond = 1e9;

std::string taken_from_environment(const char* name, std::vector<std::string>& taken) {
  const char* value = std::getenv(name);
  if (value == nullptr) return "";
  std::string text = value;
  taken.push_back(std::string(name) + "=" + text);
  ::unsetenv(name);
  return text;
}

// The state in one line: the protocol has a line an assignment.
std::string status_line(const std::string& state) { return "STATUS=" + printable(state) + "\n"; }

}  // namespace

ServiceManager ServiceManager::of_environment() {
  std::vector<std::string> taken;
  std::string socket = taken_from_environment("NOTIFY_SOCKET", taken);
  const std::string interval = taken_from_environment("WATCHDOG_USEC", taken);
  const std::string pid = taken_from_environment("WATCHDOG_PID", taken);
  const bool is_ours = pid.empty() || pid == std::to_string(::getpid());
  const double seconds = std::strtod(interval.c_str(), nullptr) / kMicrosecondsPerSecond;
  return {std::move(socket), is_ours && seconds > 0 ? seconds : 0, std::move(taken)};
}

void ServiceManager::ready(const std::string& state) {
  if (!is_asked()) return;
  const std::lock_guard lock(mutex_);
  state_ = state;
  is_ready_told_ = send("READY=1\n" + status_line(state));
  is_ready_ = true;
}

void ServiceManager::stopping(const std::string& state) {
  if (!is_asked()) return;
  const std::lock_guard lock(mutex_);
  state_ = state;
  send("STOPPING=1\n" + status_line(state));
}

void ServiceManager::alive(double now_ns, const std::string& state) {
  if (!is_asked()) return;
  std::string lines;
  const std::lock_guard lock(mutex_);
  // A manager that is busy takes nothing: what was not taken is said again.
  if (is_ready_ && !is_ready_told_) lines = "READY=1\n";
  const bool is_due = watchdog_seconds_ > 0 && now_ns >= next_ns_;
  if (is_due) lines += "WATCHDOG=1\n";
  if (state != state_) lines += status_line(state);
  if (lines.empty() || !send(lines)) return;
  is_ready_told_ = is_ready_;
  if (is_due) next_ns_ = now_ns + watchdog_seconds_ / 2 * kNanosecondsPerSecond;
  state_ = state;
}

bool ServiceManager::send(const std::string& lines) const {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_.size() >= sizeof(address.sun_path))
    return true;  // no socket has such a name: a second try would not help
  std::ranges::copy(socket_, std::begin(address.sun_path));
  if (address.sun_path[0] == '@') address.sun_path[0] = '\0';
  const Fd out(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!out) return false;
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  return ::sendto(out.get(), lines.data(), lines.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                  reinterpret_cast<const sockaddr*>(&address), length) >= 0;
}

}  // namespace railgauge
