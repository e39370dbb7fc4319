// Rank 0 of an MPI task: the launcher, the service that its shims ask, and the records of MPI's
// rank 0.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/core/base/clock.h"
#include "kernels/core/base/lookup.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/base/severity.h"
#include "kernels/core/mpi_tunables.h"
#include "kernels/core/text/text.h"
#include "kernels/launch/ending.h"
#include "kernels/launch/held_records.h"
#include "kernels/launch/job.h"
#include "kernels/launch/node/folder.h"
#include "kernels/launch/node/launch_service.h"
#include "kernels/launch/node/records.h"
#include "kernels/launch/shim/wire.h"

namespace railgauge {
namespace {

// Between two looks at deadlines, in ms; descriptors wake the loop before.
constexpr int kLeadLookMs = 100;
constexpr double kCancelSeconds = 0.2;  // for the end of a cancelled task, whose node is needed
// A launcher that came to the other nodes by ssh or Slurm ends its daemons there by itself; a busy
// node gets its resources back within 2 s.
constexpr double kForeignTermSeconds = 1.5;
constexpr double kPatienceSeconds = 2;   // for this node's daemon once the launcher has ended
constexpr double kRanksShare = 0.2;      // of the time left: the ranks' deadline precedes ours
constexpr double kRanksMostSeconds = 3;  // the most of that, to report a reason
constexpr double kLeastSeconds = 1;
// Bounds the last step, which must fit into one message of the rendezvous.
constexpr std::size_t kMostReasonBytes = 8U << 10U;  // of the reason that the others receive

// `words` except those of a name that is in `others` too.
std::vector<std::string> without(std::vector<std::string> words,
                                 const std::vector<std::string>& others) {
  std::erase_if(words, [&](const std::string& word) {
    const std::string name = word.substr(0, word.find('=') + 1);
    return std::ranges::any_of(others,
                               [&](const std::string& other) { return other.starts_with(name); });
  });
  return words;
}

// One poll loop over the launcher, the shims, this node's daemon, the records, and the relay to the
// other nodes. It is used from one thread; the relay alone has a thread of its own.
class Leader {
 public:
  Leader(MpiJob& job, OwnFolder folder, Fd service_listener, Fd records_listener)
      : job_(job),
        folder_(std::move(folder)),
        relay_(job.group, job.task.deadline_monotonic_ns),
        own_(daemon_options(job), [this](LaunchNews news) { news_.push_back(std::move(news)); }),
        service_(std::move(service_listener), service_options(job), hooks()),
        records_(std::move(records_listener)) {}

  // Daemons end before the last step is sent: a follower that receives the end may leave at once.
  MpiOutcome run() {
    const Status started = start();
    MpiOutcome end = started ? supervise() : mpi_outcome_of(started.error());
    end_daemons(own_, kPatienceSeconds);
    LaunchEnd last;
    last.set_outcome(end.outcome);
    last.set_reason(valid_utf8(beginning_of(end.reason, kMostReasonBytes)));
    relay_.end(std::move(last));
    relay_.join();
    return end;
  }

 private:
  // The shims of this node may ask for any node of the task; each node checks its own lease again.
  static LaunchService::Options service_options(const MpiJob& job) {
    LaunchService::Options options{.shim = job.launcher.shim, .lease = {}, .rank_of = {}};
    std::set<std::string> addresses;
    for (std::size_t rank = 0; rank < job.nodes.size(); ++rank) {
      addresses.insert(job.nodes[rank].address());
      options.rank_of.emplace(job.nodes[rank].address(), static_cast<std::uint32_t>(rank));
    }
    options.lease = lease_of(job, std::move(addresses));
    return options;
  }
  // A request for this node is served here, every other one goes to its node by the relay. Refusals
  // become warnings of the record.
  LaunchService::Hooks hooks() {
    return {
        .ask =
            [this](LaunchAsk ask) {
              if (ask.rank() == 0)
                static_cast<void>(own_.start(ask));
              else
                relay_.post(std::move(ask));
            },
        .signal =
            [this](LaunchSignal signal) {
              own_.stop(signal.number());
              relay_.post(std::move(signal));
            },
        .refused = [this](const std::string& why) { job_.records.note(severity::kWarning, why); }};
  }

  // All ranks of one node together, as launchers number them.
  [[nodiscard]] std::vector<const LaunchHello*> in_order_of_nodes() const {
    std::map<std::string, std::size_t> place;
    std::vector<const LaunchHello*> order;
    for (const LaunchHello& node : job_.nodes) {
      place.emplace(node.address(), place.size());
      order.push_back(&node);
    }
    std::ranges::stable_sort(order, {},
                             [&](const LaunchHello* node) { return place.at(node->address()); });
    return order;
  }

  // The ranks' own deadline comes before the task's, so that they report a reason themselves.
  [[nodiscard]] LaunchPlan plan(const std::vector<std::string>& handed_on) const {
    const double left = left_seconds(job_.task.deadline_monotonic_ns);
    const double ranks_seconds =
        std::max(kLeastSeconds, left - std::min(left * kRanksShare, kRanksMostSeconds));
    LaunchPlan plan{.launcher = job_.launcher,
                    .mode = job_.mode,
                    .addresses = {},
                    .hosts = {},
                    .hosts_file = folder_.path() + "/hosts",
                    .network = job_.own.network,
                    .interface = job_.own.interface,
                    .shim = job_.launcher.shim,
                    .binding = job_.task.params.text("binding"),
                    .program = {},
                    .endpoints = {},
                    .handed_on = handed_on};
    for (const LaunchHello* node : in_order_of_nodes()) {
      plan.addresses.push_back(node->address());
      plan.hosts.push_back(node->host_name());
      plan.endpoints.push_back(node->endpoint());
    }
    plan.program = ranks_words(job_.launcher, job_.task.row.info().name(), job_.task.params,
                               folder_.path() + "/records", ranks_seconds, job_.task.raw_samples);
    add_endpoints(plan);
    return plan;
  }

  // Returns UCX's devices for the data network: UCX would use any interface for TCP, even an
  // unconnected one. "" if nodes differ, or if the task chooses.
  [[nodiscard]] std::string ucx_devices() const {
    const Params& params = job_.task.params;
    if (!params.is_default("hca_list") || !params.is_default("process_to_rail")) return {};
    const auto list = [](const LaunchHello& node) {
      return fmt::format("{}", fmt::join(node.net_devices(), ","));
    };
    const std::string first = list(job_.nodes.front());
    const auto same = [&](const LaunchHello& node) { return list(node) == first; };
    return std::ranges::all_of(job_.nodes, same) ? first : std::string();
  }

  // Slurm reads the file itself (SLURM_HOSTFILE).
  static Status write_hosts(const LaunchPlan& plan) {
    std::ofstream file(plan.hosts_file);
    file << hosts_file_text(plan) << std::flush;
    if (!file) return fail(Code::kUnavailable, plan.hosts_file + ": cannot be written");
    return {};
  }

  // Under an agent the launcher gets a clean environment; ssh and Slurm need the person's own
  // (keys, job variables), in which handed-on variables are not repeated.
  Status start() {
    const std::vector<std::string> mine = process_environment_words();
    std::vector<std::string> handed_on = handed_on_variables(mine);
    const auto is_set = [&](std::string_view name) { return !job_.task.params.is_default(name); };
    add_transport_reporting(job_.launcher.mpi, std::ranges::any_of(mpi::kTunables, is_set),
                            handed_on);
    if (const std::string devices = ucx_devices(); !devices.empty())
      add_unless_set(handed_on, "UCX_NET_DEVICES=" + devices);
    // The plan has the final list of variables, so it is made after the last one is added.
    const LaunchPlan planned = plan(handed_on);
    if (job_.mode == LaunchMode::kSlurm) RG_TRY_OK(write_hosts(planned));
    const bool clean = job_.mode == LaunchMode::kAgent;
    MpiCommand command{
        .keeper = job_.launcher.shim,
        .program =
            job_.mode == LaunchMode::kSlurm ? program_in_path("srun") : job_.launcher.program,
        .words = launch_words(planned),
        .environment = clean ? clean_environment(mine, job_.launcher)
                             : with_installation(without(mine, handed_on), job_.launcher),
        .one_stream = true,
        .grace_seconds = clean ? kCancelSeconds : kForeignTermSeconds};
    const auto add = [&](const std::vector<std::string>& more) {
      command.environment.insert(command.environment.end(), more.begin(), more.end());
    };
    add(handed_on);
    add(launch_settings(planned));
    add({fmt::format("{}={}/shims", launch::kSocketVariable, folder_.path())});
    launcher_ = RG_TRY(MpiProcess::start(command));
    end_.name = std::filesystem::path(command.program).filename().string();
    return {};
  }

  // Asks launcher and daemon to end at the first reason, and waits until nothing of the launcher is
  // left.
  MpiOutcome supervise() {
    std::optional<int> status;
    while (!(status = launcher_.ended())) {
      wait();
      serve();
      if (why_) continue;
      why_ = reason_to_end(job_, &relay_);
      if (!why_) continue;
      launcher_.end();
      own_.end();
    }
    serve();
    end_.wait_status = *status;
    return conclude();
  }

  // After the reason to end is known, its descriptors are no longer polled: they stay readable.
  void wait() {
    std::vector<pollfd> set{{launcher_.exit_fd(), POLLIN, 0}, {relay_.fd(), POLLIN, 0}};
    if (launcher_.out_fd() >= 0) set.push_back({launcher_.out_fd(), POLLIN, 0});
    if (!why_) {
      set.push_back({job_.options.end_request.fd(), POLLIN, 0});
      set.push_back({job_.signals_fd, POLLIN, 0});
    }
    service_.add_to(set);
    own_.add_to(set);
    records_.add_to(set);
    ::poll(set.data(), set.size(), kLeadLookMs);
  }

  // Reads available output, records, news and requests, without waiting.
  void serve() {
    std::string& words = end_.words;
    read_what_is_there(launcher_.out(), words, words.size() + kMostLauncherWords);
    drop_old_lines(end_);
    service_.service();
    own_.service();
    // News of this node's own daemon does not travel.
    for (const LaunchNews& news : std::exchange(news_, {})) service_.forward(0, news);
    for (const auto& [rank, step] : relay_.take())
      for (const LaunchNews& news : step.news()) service_.forward(rank, news);
    for (Record& record : records_.read()) take(std::move(record));
    release(false);
    relay_.set_quiet(measuring_ && !end_.final);
  }

  // The started record waits for later records, before which the MPI prints its transports.
  void take(Record record) {
    if (record.has_started()) {
      job_.measuring();
      measuring_ = true;
      started_ = std::move(*record.mutable_started());
      end_.settings = value_of(started_.facts(), "mpi_settings", end_.settings);
      return;
    }
    if (record.has_final())
      end_.final = std::move(*record.mutable_final());
    else
      held_.add(std::move(record));
  }
  // Records wait until the MPI has printed its transports, or for HeldRecords::kWaitNs.
  void release(bool at_once) {
    if (held_.empty()) return;
    const bool is_known = at_once || started_reported_ || !transport_facts(end_).empty();
    for (Record& record : held_.due(is_known)) {
      report_started();
      if (record.has_point()) job_.records.point(std::move(*record.mutable_point()));
      if (record.has_note()) job_.records.note(record.note().severity(), record.note().text());
    }
  }

  // Reports the started record once, with the facts of rank 0, the task and the launcher.
  void report_started() {
    if (started_reported_) return;
    started_reported_ = true;
    const std::string endpoint = started_.endpoint();
    // Uses the task's parameters: the ranks have no better ones, and may not have reported any.
    started_.clear_parameters();
    started_.MergeFrom(started_of(job_));
    if (!endpoint.empty()) started_.set_endpoint(endpoint);
    auto& facts = *started_.mutable_facts();
    facts["mpi_network"] = job_.own.network;
    for (const auto& [name, value] : transport_facts(end_)) facts[name] = value;
    job_.records.started(std::move(started_));
  }

  // A cancel or a lost node is the outcome itself; otherwise the launcher's end and rank 0's final
  // record decide together.
  MpiOutcome conclude() {
    release(true);
    report_started();
    if (const std::string warning = finalize_warning(end_.words); !warning.empty())
      job_.records.note(severity::kWarning, warning);
    const bool by_deadline = why_ && why_->code == Code::kDeadlineExceeded;
    if (!end_.words.empty())  // for the agent, which keeps the end of a runner's stderr
      fmt::print(stderr, "{}\n", end_.words);
    if (why_ && !by_deadline) return mpi_outcome_of(*why_);
    end_.past_deadline = by_deadline;
    const Final final = final_of(end_);
    if (job_.group.size() > 1)
      if (const std::string silent = silence_warning(final, end_); !silent.empty())
        job_.records.note(severity::kWarning, silent);
    return {final.outcome(), final.reason()};
  }

  // Members are destroyed in reverse: the launcher first, the folder with the sockets last.
  MpiJob& job_;
  const OwnFolder folder_;
  MpiRelay relay_;
  std::vector<LaunchNews> news_;  // of this node's own daemon
  MpiDaemons own_;
  LaunchService service_;
  MpiRecords records_;
  MpiProcess launcher_;
  LauncherEnd end_;
  Started started_;
  bool started_reported_ = false;
  HeldRecords held_;          // those after it
  bool measuring_ = false;    // all daemons and ranks are up
  std::optional<Error> why_;  // the reason to end, once given
};

}  // namespace

// Makes folder and sockets before it starts the launcher, whose shims need them.
MpiOutcome lead_mpi_task(MpiJob& job) {
  const auto open = [&]() -> Result<MpiOutcome> {
    OwnFolder folder = RG_TRY(OwnFolder::make());
    Fd service = RG_TRY(listen_at_path(folder.path() + "/shims"));
    Fd records = RG_TRY(listen_at_path(folder.path() + "/records"));
    Leader leader(job, std::move(folder), std::move(service), std::move(records));
    return leader.run();
  };
  const auto end = open();
  return end ? *end : mpi_outcome_of(end.error());
}

}  // namespace railgauge
