// Starts a launcher's daemon after the grammar and the lease have allowed it, and passes on its
// output.
#include "kernels/launch/node/daemons.h"

#include <algorithm>

#include <fmt/format.h>

#include "kernels/core/base/clock.h"

namespace railgauge {
namespace {

constexpr std::size_t kMostBytes = 8U << 10U;  // of one stream in one piece of news

// Replaces the interface's name: Hydra passes every node the name on the launcher's node.
void name_own_interface(std::vector<std::string>& arguments, const std::string& interface) {
  const auto option = std::ranges::find(arguments, "--iface");
  if (!interface.empty() && option != arguments.end() && option + 1 != arguments.end())
    *(option + 1) = interface;
}

}  // namespace

// Checks all of the request again, since it comes from another node. kPermissionDenied: it may not
// be started. kNotFound: the daemon is not installed.
Result<MpiProcess> MpiDaemons::open(const LaunchAsk& ask) const {
  const std::vector<std::string> words(ask.words().begin(), ask.words().end());
  auto command = RG_TRY(launch::read_daemon_command(words, options_.shim));
  RG_TRY_OK(launch::check_lease(command, options_.lease, monotonic_now_ns()));
  if (!running_.empty())
    return fail(Code::kPermissionDenied,
                "launch shim: task {}: node {} runs its {} already; refused", options_.lease.task,
                command.node, launch::daemon_name(command.daemon));
  if (options_.daemon.empty())
    return fail(Code::kNotFound, "launch shim: node {} has no {}", command.node,
                launch::daemon_name(command.daemon));
  name_own_interface(command.arguments, options_.interface);
  MpiCommand kept{.keeper = options_.keeper,
                  .program = options_.daemon,
                  .words = {std::string(launch::daemon_name(command.daemon))},
                  .environment = options_.environment};
  kept.words.insert(kept.words.end(), command.arguments.begin(), command.arguments.end());
  return MpiProcess::start(kept);
}

// A refusal is reported to the asking node as well, whose shim prints it.
std::string MpiDaemons::start(const LaunchAsk& ask) {
  auto started = open(ask);
  if (started) {
    running_.emplace(ask.number(), std::move(*started));
    return {};
  }
  LaunchNews news;
  news.set_number(ask.number());
  news.set_refused(started.error().message);
  report_(std::move(news));
  return started.error().message;
}

// An unknown number is ignored: the daemon may have ended meanwhile.
void MpiDaemons::stop(std::uint32_t number) {
  if (const auto found = running_.find(number); found != running_.end()) found->second.end();
}

void MpiDaemons::end() const {
  for (const auto& [number, kept] : running_) kept.end();
}

// Reads available output and reports ends. An end is reported only when all output has been read.
void MpiDaemons::service() {
  for (auto it = running_.begin(); it != running_.end();) {
    MpiProcess& kept = it->second;
    // The status is read first, so that output from before the end is read after it.
    const auto status = kept.ended();
    std::string out;
    std::string err;
    read_what_is_there(kept.out(), out, kMostBytes);
    read_what_is_there(kept.err(), err, kMostBytes);
    const bool drained = out.size() < kMostBytes && err.size() < kMostBytes;
    const bool over = status.has_value() && drained;
    if (over || !out.empty() || !err.empty()) {
      LaunchNews news;
      news.set_number(it->first);
      news.set_out(std::move(out));
      news.set_err(std::move(err));
      if (over) news.set_wait_status(*status);
      report_(std::move(news));
    }
    it = over ? running_.erase(it) : std::next(it);
  }
}

// The exit descriptor is -1 on kernels without pidfd_open(2).
void MpiDaemons::add_to(std::vector<pollfd>& set) const {
  for (const auto& [number, kept] : running_) {
    if (kept.exit_fd() >= 0) set.push_back({kept.exit_fd(), POLLIN, 0});
    for (const int fd : {kept.out_fd(), kept.err_fd()})
      if (fd >= 0) set.push_back({fd, POLLIN, 0});
  }
}

}  // namespace railgauge
