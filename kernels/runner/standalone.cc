// One run between terminals or alone: the child measures, the parent prints.
#include "kernels/runner/standalone.h"

#include <unistd.h>
#include <cstdint>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <fmt/format.h>

#include "kernels/core/base/clock.h"
#include "kernels/core/base/lookup.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/group/tcp_group.h"
#include "kernels/core/text/json.h"
#include "kernels/core/text/printable.h"
#include "kernels/core/text/rfc3339.h"
#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"
#include "kernels/launch/ending.h"
#include "kernels/launch/launcher.h"
#include "kernels/runner/agent_task.h"
#include "kernels/runner/child.h"
#include "kernels/runner/error_reporting_group.h"
#include "kernels/runner/local_ranks.h"
#include "kernels/runner/meeting.h"
#include "kernels/runner/task/run.h"
#include "kernels/runner/task/watchdog.h"

namespace railgauge {
namespace {

constexpr double kConnectSeconds = 10;      // for the other terminal to come up
constexpr double kPeerWaitSeconds = 86400;  // of a listener for its first peer
constexpr const char* kEraseLine = "\r\x1b[K";
constexpr double kPeerEndSeconds = 10;  // for the peer to come to its end as well

// "gpu2,gpu3" names one endpoint for each rank, in rank order; further ranks begin again with the
// first. A text without a comma is the endpoint of every rank.
std::string endpoint_of_rank(const std::string& endpoint, std::uint32_t rank) {
  const auto endpoints = split(endpoint, ',');
  return std::string(endpoints[rank % endpoints.size()]);
}

// --- in the child: one run
// ------------------------------------------------------------------------

// One rank's run, in the child. Not thread safe, except for its watchdog.
class Run {
 public:
  // `ranks` is this host's group, where there is one.
  Run(const StandaloneOptions& options, TcpListener* listener, Group* ranks,
      double spawned_monotonic_ns, RecordSink& sink)
      : options_(options),
        listener_(listener),
        ranks_(ranks),
        spawned_monotonic_ns_(spawned_monotonic_ns),
        entered_monotonic_ns_(monotonic_now_ns()),
        info_(options.row->info()),
        records_(sink, RecordKey{}) {}

  // Runs and returns the exit code. Until the parameters are agreed, the watchdog waits as long as
  // a listener may.
  int execute() {
    become_task_process();
    watchdog_.guard(records_, monotonic_now_ns() + kPeerWaitSeconds * 1e9);
    const int exit_code = finish_task(run(), records_);
    watchdog_.release();
    return exit_code;
  }

 private:
  [[nodiscard]] bool alone() const { return !options_.listen && !options_.connect; }

  // The three forms differ in their group alone.
  Status run() {
    if (ranks_ != nullptr) return run_with_ranks();
    return alone() ? run_alone() : run_with_peer();
  }

  // No other rank: nothing to agree on.
  Status run_alone() {
    Params params = RG_TRY(Params::parse(info_, options_.parameters));
    const Task task = make_task(std::move(params), options_.deadline_seconds);
    SoloGroup group;
    return run_kernel(task, group, records_, [](const Status&) -> Status { return {}; });
  }

  // Both sides exchange their errors before they end.
  Status run_with_peer() {
    const std::unique_ptr<Group> group = RG_TRY(join());
    entered_monotonic_ns_ = monotonic_now_ns();  // waiting for the peer is no phase of the task
    spawned_monotonic_ns_ = 0;
    ErrorReportingGroup telling(*group);
    Settled settled = RG_TRY(meet(telling, info_, options_.parameters, options_.deadline_seconds));
    Task task = make_task(std::move(settled.params), settled.deadline_seconds);
    task.facts["peer"] = settled.peer_host;
    return run_together(task, telling);
  }

  // The ranks of this host, or those of an MPI's launcher.
  Status run_with_ranks() {
    ErrorReportingGroup telling(*ranks_);
    Params params = RG_TRY(Params::parse(info_, options_.parameters));
    Task task = make_task(std::move(params), options_.deadline_seconds);
    task.endpoint = endpoint_of_rank(options_.endpoint, ranks_->rank());
    return run_together(task, telling);
  }

  // Every rank learns of the others' errors, after prepare and at the end.
  Status run_together(const Task& task, ErrorReportingGroup& telling) {
    const Status ended = run_kernel(task, telling, records_, [&](const Status& prepared) -> Status {
      return telling.agree(prepared, left_seconds(task.deadline_monotonic_ns));
    });
    return telling.agree(ended, kPeerEndSeconds);
  }

  // Connects or accepts. kUnavailable: no peer answers.
  Result<std::unique_ptr<Group>> join() {
    // The rendezvous compares these, so two kernels never meet.
    Started same;  // parameters are settled in the meeting, where one side rules
    same.set_kernel(info_.name());
    same.set_revision(info_.revision());
    same.set_size(2);
    if (listener_ != nullptr) return listener_->accept(same, kListeningRank, kPeerWaitSeconds);
    return join_tcp_group(to_string(*options_.connect), same,
                          std::min(kConnectSeconds, options_.deadline_seconds));
  }

  // The deadline begins when the parameters are known, and the watchdog with it.
  Task make_task(Params params, double deadline_seconds) {
    Task task{.row = *options_.row,
              .params = std::move(params),
              .endpoint = options_.endpoint,
              .deadline_monotonic_ns = monotonic_now_ns() + deadline_seconds * 1e9,
              .raw_samples = options_.raw_samples,
              .spawned_monotonic_ns = spawned_monotonic_ns_,
              .entered_monotonic_ns = entered_monotonic_ns_};
    watchdog_.guard(records_, task.deadline_monotonic_ns);
    return task;
  }

  const StandaloneOptions& options_;
  TcpListener* const listener_;
  Group* const ranks_;
  double spawned_monotonic_ns_;
  double entered_monotonic_ns_;
  const KernelInfo info_;
  RecordWriter records_;
  Watchdog watchdog_;
};

// Drops records. The points of other ranks are rank 0's, and their errors reach it through the
// group.
class NoSink final : public RecordSink {
 public:
  Status write(const Record&) override { return {}; }
};

// In the child: rank 0 here, the others in processes of their own.
int run_ranks(const StandaloneOptions& options, double spawned_ns, RecordSink& sink) {
  const auto ranks = start_local_ranks(options.ranks, [&](Group& group) {
    NoSink none;
    return Run(options, nullptr, &group, spawned_ns, none).execute();
  });
  if (ranks) return Run(options, nullptr, ranks->get(), spawned_ns, sink).execute();
  RecordWriter records(sink, RecordKey{});
  return finish_task(tl::unexpected(ranks.error()), records);
}

// MPI_Finalize has no deadline, and MPICH over UCX sometimes does not return from it. Measured and
// verified figures count all the same.
volatile std::sig_atomic_t exit_code_of_world = kExitInvalid;
// A signal handler: async-signal-safe calls only.
void leave_at_once(int) {
  static_cast<void>(!::write(STDERR_FILENO, kFinalizeHangs.data(), kFinalizeHangs.size()));
  ::_exit(exit_code_of_world);
}

// One rank of a launcher's.
int run_in_world(const StandaloneOptions& options, double spawned_ns, RecordSink& sink) {
  const std::unique_ptr<Group> group = options.world->join();
  const int exit_code = Run(options, nullptr, group.get(), spawned_ns, sink).execute();
  if (!options.world->leave) return exit_code;
  exit_code_of_world = exit_code;
  // The alarm ends a process that hangs in MPI_Finalize; its records are delivered by then.
  ::signal(SIGALRM, leave_at_once);
  ::alarm(kFinalizeSeconds);
  options.world->leave();
  return exit_code;
}

// --- in the parent: supervise and print
// -----------------------------------------------------------

// One run in a child process; `report` grows with its records, and `on_record` gets each of them.
ChildEnd measure(const StandaloneOptions& options, TcpListener* listener, RunnerReport& report,
                 const std::function<void(const Record&)>& on_record) {
  report = begin_report<RunnerReport>();
  report.set_kernel(options.row->info().name());
  const double spawned_ns = monotonic_now_ns();
  // All four forms run in the child, so that the parent's report survives each of them.
  const auto body = [&](RecordSink& sink) {
    if (options.launches) return run_mpi_launcher(options, sink);
    if (options.world) return run_in_world(options, spawned_ns, sink);
    if (options.ranks > 1) return run_ranks(options, spawned_ns, sink);
    return Run(options, listener, nullptr, spawned_ns, sink).execute();
  };
  const ChildEnd end = run_in_child(body, [&](const Record& record) {
    add_record(record, report);
    on_record(record);
  });
  if (options.world && options.world->ended) options.world->ended();
  // Includes the start and the end of the child.
  report.set_duration_seconds(-left_seconds(spawned_ns));
  return end;
}

// The parent's side: progress while it runs, the report when it ends.
class Terminal {
 public:
  explicit Terminal(const StandaloneOptions& options) : options_(options) {}

  // Makes one run and prints it.
  ChildEnd run(TcpListener* listener) {
    ChildEnd end =
        measure(options_, listener, report_, [this](const Record& record) { take(record); });
    if (const Status printed = print(end.exit_code); !printed) {
      fmt::print(stderr, "railgauge-runner: {}\n", printable(printed.error().message));
      if (end.exit_code == kExitPassed) end.exit_code = kExitInvalid;
    }
    return end;
  }

 private:
  [[nodiscard]] bool prints_results() const { return !options_.listen || !is_table(); }
  [[nodiscard]] bool is_table() const { return options_.format == Format::kTable; }

  // NDJSON prints each record as it comes; a table shows notes and progress on stderr.
  void take(const Record& record) const {
    if (options_.format == Format::kNdjson) put(event_line(record), stdout);
    if (!is_table()) return;
    if (record.has_note())
      fmt::print(stderr, "{}: {}\n", record.note().severity(), printable(record.note().text()));
    if (shows_progress_ && record.has_point())  // the table waits for the last size
      fmt::print(stderr, "{}{} {}: done", kEraseLine, record.point().metric(),
                 format_bytes(record.point().message_bytes()));
    if (shows_progress_ && record.has_final()) fmt::print(stderr, kEraseLine);
  }

  // The report with texts that cannot steer the terminal: some are the peer's.
  [[nodiscard]] RunnerReport shown() const {
    RunnerReport safe = report_;
    make_printable(safe);
    return safe;
  }

  // The whole report in that format.
  [[nodiscard]] std::string text(Format format) const {
    switch (format) {
      case Format::kTable:
        return options_.table(shown(), options_.style);
      case Format::kJson:
        return to_json(report_) + '\n';
      case Format::kCsv:
        return report_csv(report_);
      case Format::kNdjson:
        return {};  // was printed as it came
    }
    return {};
  }

  // The outcome first, then the results, then the file.
  Status print(int exit_code) {
    say_outcome(exit_code);
    if (prints_results() && (!is_table() || report_.points_size() > 0))
      put(text(options_.format), stdout);
    if (!options_.file.empty()) return write_document(options_.file, text(options_.file_format));
    return {};
  }

  // Prints the listener's result in one line; for other forms, only failures.
  void say_outcome(int exit_code) const {
    std::string what =
        report_.outcome() + (report_.reason().empty() ? "" : ": ") + report_.reason();
    // For wrong use the outcome does not help, only the reason.
    if (exit_code == kExitUsage) what = report_.reason();
    if (options_.listen) {
      const std::string peer = value_of(report_.started().facts(), "peer");
      fmt::print(stderr, "{} {}{}{}: {}\n", report_.started_at(), report_.kernel(),
                 peer.empty() ? "" : " with ", printable(peer), printable(what));
    } else if (report_.outcome() != kPassed) {
      fmt::print(stderr, "railgauge-runner: {}: {}\n", report_.kernel(), printable(what));
    }
  }

  // Flushed at once, so that a pipe's reader gets each line.
  static void put(const std::string& text, std::FILE* to) {
    std::fwrite(text.data(), 1, text.size(), to);
    std::fflush(to);
  }

  const StandaloneOptions& options_;
  const bool shows_progress_ = ::isatty(STDERR_FILENO) == 1;
  RunnerReport report_;
};

}  // namespace

Status write_document(const std::string& path, const std::string& text) {
  const std::string next = path + ".part";
  std::FILE* file = std::fopen(next.c_str(), "we");
  bool good = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file != nullptr) good = std::fclose(file) == 0 && good;
  if (!good || std::rename(next.c_str(), path.c_str()) != 0)
    return fail(Code::kUnavailable, "{}: write: {}", path, std::strerror(errno));
  return {};
}

std::string now_in_words() {
  const std::chrono::duration<double> since = std::chrono::system_clock::now().time_since_epoch();
  return rfc3339(since.count());
}

// NO_COLOR and TERM decide on a terminal.
bool stdout_takes_colour() {
  return wants_colour(::isatty(STDOUT_FILENO) == 1, std::getenv("NO_COLOR"), std::getenv("TERM"));
}

StandaloneEnd measure_standalone(const StandaloneOptions& options,
                                 const std::function<void(const Record&)>& on_record) {
  StandaloneEnd out;
  const ChildEnd end = measure(options, nullptr, out.report, on_record);
  out.exit_code = end.exit_code;
  out.interrupted = end.ending_signal != 0;
  return out;
}

// Ranks of a launcher but rank 0 print nothing: the launcher would mix their lines.
int run_standalone(const StandaloneOptions& options) {
  // Rank 0 prints for all.
  const bool silent = options.world && options.world->rank != 0;
  if (const Status right = check_standalone(options); !right) {
    if (!silent) fmt::print(stderr, "railgauge-runner: {}\n", printable(right.error().message));
    return kExitUsage;
  }
  if (options.world && !silent && !options.records_to.empty()) {
    auto sink = SocketSink::connect(options.records_to);
    if (sink) return run_in_world(options, monotonic_now_ns(), *sink);
    fmt::print(stderr, "railgauge-runner: {}\n", printable(sink.error().message));
    return exit_code_of(sink.error());
  }
  if (silent) {
    if (options.world->ended) return measure_standalone(options, [](const Record&) {}).exit_code;
    NoSink none;
    return run_in_world(options, monotonic_now_ns(), none);
  }
  // From here on this process supervises and prints.
  Terminal terminal(options);
  if (!options.listen) return terminal.run(nullptr).exit_code;
  auto listener = TcpListener::bind(*options.listen);
  if (!listener) {
    fmt::print(stderr, "railgauge-runner: {}\n", printable(listener.error().message));
    return exit_code_of(listener.error());
  }
  fmt::print(stderr, "{}: listening on {}\n", options.row->info().name(),
             to_string(listener->address()));
  // With --keep one run follows another; the listener stays open between them.
  for (;;) {
    const ChildEnd end = terminal.run(&*listener);
    if (!options.keep || end.ending_signal != 0) return end.exit_code;
  }
}

namespace {

// Several ranks of one host.
Status check_ranks(const StandaloneOptions& options, const KernelInfo& info) {
  if (options.ranks > kMaxLocalRanks)
    return invalid("{} ranks: at most {} run on one host", options.ranks, kMaxLocalRanks);
  if (info.max_ranks() != 0 && options.ranks > info.max_ranks())
    return invalid("{} takes {} ranks at most", info.name(), info.max_ranks());
  if (options.ranks < info.min_ranks())
    return invalid("{} needs {} ranks", info.name(), info.min_ranks());
  const auto named = static_cast<std::size_t>(std::ranges::count(options.endpoint, ',')) + 1;
  if (named != 1 && named != options.ranks)
    return invalid("{} endpoints for {} ranks; name one, or each", named, options.ranks);
  return {};
}

// Either a launcher's ranks, or ranks that a launcher will start.
Status check_world(const StandaloneOptions& options, const KernelInfo& info, bool pair) {
  if (pair || options.ranks > 1)
    return invalid(
        "a launcher started this rank: --ranks, --listen and --connect say nothing here");
  if (options.world->size < info.min_ranks() ||
      (info.max_ranks() != 0 && options.world->size > info.max_ranks()))
    return invalid("{} takes {} ranks{}; the launcher started {}", info.name(), info.min_ranks(),
                   info.max_ranks() == 0 ? " or more" : "", options.world->size);
  if (options.records_to.empty() && value_of(options.parameters, "binding", "default") != "default")
    return invalid(
        "parameter binding: is the launcher's; give it the option (--bind-to, -bind-to)");
  return {};
}

}  // namespace

Status check_standalone(const StandaloneOptions& options) {
  const KernelInfo info = options.row->info();
  RG_TRY_OK(Params::parse(info, options.parameters));
  const bool pair = options.listen || options.connect;
  if (options.world) return check_world(options, info, pair);
  if (options.listen && options.connect)
    return invalid("--listen and --connect exclude each other");
  if (pair && options.ranks > 1)
    return invalid("--ranks and --listen or --connect exclude each other");
  if (pair && options.launches)
    return invalid(
        "{}: an MPI's launcher starts its ranks; say --ranks 2 in place of --listen and --connect",
        info.name());
  if (pair && info.max_ranks() == 1)
    return invalid("{} runs alone; leave out --listen and --connect", info.name());
  if (!pair && options.ranks == 1 && info.min_ranks() > 1)
    return invalid(
        options.launches
            ? fmt::format("{} needs ranks: --ranks {} starts them by the MPI's launcher",
                          info.name(), info.min_ranks())
            : fmt::format("{} needs a peer: --listen on one host, then --connect HOST here",
                          info.name()));
  if (pair && info.min_ranks() > 2)
    return invalid("{} needs {} ranks; start it from a controller", info.name(), info.min_ranks());
  return options.ranks > 1 ? check_ranks(options, info) : Status{};
}

}  // namespace railgauge
