// The runner as an agent's child: request and steps of the rendezvous arrive on one pipe, records
// and this rank's steps leave on the other.
#include "kernels/runner/agent_task.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "kernels/core/base/clock.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/group/relay_group.h"
#include "kernels/launch/task.h"
#include "kernels/runner/task/run.h"
#include "kernels/runner/task/watchdog.h"
#include "kernels/runner/task_log.h"

namespace railgauge {
namespace {

constexpr double kRequestTimeoutSeconds = 10;  // the agent writes it right after the spawn
// A day, in seconds.
constexpr double kMaxDeadlineSeconds = 86400;

// Records as messages to the agent.
class ChannelSink final : public RecordSink {
 public:
  explicit ChannelSink(RelayChannel& channel) : channel_(channel) {}
  Status write(const Record& record) override {
    FromRunner message;
    *message.mutable_record() = record;
    return channel_.send(message);
  }

 private:
  RelayChannel& channel_;
};

// The site profile's settings, as "mtu=4096,traffic_class=106".
std::map<std::string, std::string> facts_of(const TaskRequest& request, const Params& params) {
  std::string given;
  for (const std::string& name : request.site_defaults())
    if (const auto value = params.effective().find(name); value != params.effective().end())
      given += fmt::format("{}{}={}", given.empty() ? "" : ",", name, value->second);
  if (given.empty()) return {};
  return {{"site_defaults", given}};
}

// Checks the request again, since the controller may be of another version. The deadline counts
// from now, so clocks of two hosts are never compared.
Result<Task> checked(const TaskRequest& request, const FindKernel& find) {
  const KernelRow* row = find(request.kernel());
  if (row == nullptr)
    return fail(Code::kUnimplemented, "{}: this runner ({}) has no such kernel", request.kernel(),
                RAILGAUGE_VERSION);
  const KernelInfo info = row->info();
  const std::uint32_t size = request.size();
  if (size < info.min_ranks() || (info.max_ranks() != 0 && size > info.max_ranks()) ||
      request.key().rank() >= size)
    return invalid("{}: rank {} of {} ranks; the kernel takes {} to {}", info.name(),
                   request.key().rank(), size, info.min_ranks(), info.max_ranks());
  if (!(request.deadline_seconds() > 0) || request.deadline_seconds() > kMaxDeadlineSeconds)
    return invalid("{}: deadline of {} s; allowed is above 0 to {} s", info.name(),
                   request.deadline_seconds(), kMaxDeadlineSeconds);
  // Parsed before the started record, which lists the effective ones.
  Params params =
      RG_TRY(Params::parse(info, {request.parameters().begin(), request.parameters().end()}));
  std::map<std::string, std::string> facts = facts_of(request, params);
  return Task{.row = *row,
              .params = std::move(params),
              .endpoint = request.endpoint(),
              .deadline_monotonic_ns = monotonic_now_ns() + request.deadline_seconds() * 1e9,
              .raw_samples = request.raw_samples(),
              .spawned_monotonic_ns = request.spawned_monotonic_ns(),
              .facts = std::move(facts)};
}

}  // namespace

void become_task_process() {
  // The request pipe's end has the same effect, unless this process hangs in a driver.
  RG_CHECK(::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
  RG_CHECK(::signal(SIGPIPE, SIG_IGN) != SIG_ERR);
  RG_CHECK(::dup2(STDERR_FILENO, STDOUT_FILENO) >= 0);
}

// An MPI task runs without the watchdog, whose _exit would leave the task's processes behind.
int run_agent_task(const AgentTaskOptions& options, const FindKernel& find) {
  // First of all, so that no library prints into the agent's pipe.
  become_task_process();
  for (const int fd : {options.request_fd, options.record_fd})
    if (::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
      log_error(fmt::format("descriptor {} is not open", fd));
      return kExitUsage;
    }
  // Declared before the channel, whose thread may still call the watchdog while it ends.
  std::optional<Watchdog> watchdog;
  std::atomic<Watchdog*> guarding = nullptr;
  EndRequest end_request;
  RelayChannel channel(options.request_fd, options.record_fd, [&](const Error& why) {
    end_request.ring(why);
    if (Watchdog* guard = guarding) guard->end(why);
  });
  const auto request = channel.wait_request(kRequestTimeoutSeconds);
  if (!request) {
    log_error(request.error().message);
    return kExitInvalid;
  }
  ChannelSink sink(channel);
  RecordWriter records(sink, request->key());
  auto task = checked(*request, find);
  if (!task) return finish_task(tl::unexpected(task.error()), records);
  task->entered_monotonic_ns = options.entered_monotonic_ns;
  // Payloads of the rendezvous travel over agents and controller.
  RelayGroup group(channel, request->key().rank(), request->size());
  const auto ready = [&](const Status& prepared) -> Status {
    if (!prepared) return {};
    FromRunner message;
    message.mutable_prepared();
    RG_TRY_OK(channel.send(message));
    return channel.wait_go(left_seconds(task->deadline_monotonic_ns));
  };
  // An MPI task has processes to end, which a watchdog would leave behind.
  if (options.launches_mpi && request->kernel().starts_with("mpi.")) {
    const std::string name =
        fmt::format("{}/{}", request->key().run_id(), request->key().task_id());
    return run_mpi_task(*task, {name, end_request}, group, records, ready);
  }
  // Passes on a cancel that arrived earlier and is stored in end_request.
  guarding = &watchdog.emplace();
  if (const auto why = end_request.why()) watchdog->end(*why);
  watchdog->guard(records, task->deadline_monotonic_ns);
  const Status ended = run_kernel(*task, group, records, ready);
  const int exit_code = finish_task(ended, records);
  watchdog->release();
  return exit_code;
}

}  // namespace railgauge
