// Several ranks of one host without an agent: starts the launcher, reads the records of rank 0 from
// a socket, and writes the final record.
#include "kernels/launch/launcher.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "kernels/core/base/clock.h"
#include "kernels/core/base/lookup.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/base/severity.h"
#include "kernels/core/group/framing.h"
#include "kernels/core/mpi_tunables.h"
#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"
#include "kernels/launch/ending.h"
#include "kernels/launch/held_records.h"
#include "kernels/launch/node/folder.h"
#include "kernels/launch/node/launch_service.h"
#include "kernels/launch/node/mpi_process.h"
#include "kernels/launch/node/records.h"
#include "kernels/launch/shim/wire.h"
#include "kernels/launch/words.h"
#include "kernels/runner/task/run.h"
#include "kernels/runner/task/watchdog.h"

namespace railgauge {
namespace {

// The time limit for the reader of one record, in seconds.
constexpr double kSendSeconds = 10;
constexpr double kGraceSeconds = 5;  // past the deadline, which the ranks keep by themselves
// From SIGTERM to SIGKILL; before our parent kills us (child.h).
constexpr double kTermSeconds = 2;
constexpr int kChildLookMs = 500;  // a pidfd wakes us before

// A launcher, from its start until no process of it is left and all output is read.
class Launch {
 public:
  Launch(MpiProcess launcher, Fd listener, double deadline_ns, std::string name, RecordSink& sink)
      : launcher_(std::move(launcher)),
        records_(std::move(listener)),
        deadline_ns_(deadline_ns),
        signals_(ending_signals_fd()),
        sink_(sink) {
    end_.name = std::move(name);
  }

  // Returns the exit code once the launcher and all its processes have ended.
  int supervise() {
    std::optional<int> status;
    while (!(status = launcher_.ended())) {
      wait();
      look();
      if (!asked_to_end_ && monotonic_now_ns() >= deadline_ns_) {
        end_.past_deadline = asked_to_end_ = true;
        launcher_.end();
      }
    }
    look();
    end_.wait_status = *status;
    return finish();
  }

 private:
  // Waits for output, a signal or the deadline.
  void wait() {
    std::vector<pollfd> set{{signals_.get(), POLLIN, 0}, {launcher_.exit_fd(), POLLIN, 0}};
    if (launcher_.out_fd() >= 0) set.push_back({launcher_.out_fd(), POLLIN, 0});
    records_.add_to(set);
    const double left_ms =
        asked_to_end_ ? kChildLookMs : (deadline_ns_ - monotonic_now_ns()) / 1e6 + 1;
    ::poll(set.data(), set.size(),
           static_cast<int>(std::clamp(left_ms, 1.0, double{kChildLookMs})));
    signalfd_siginfo info{};
    if (set[0].revents == 0 || asked_to_end_) return;
    if (::read(signals_.get(), &info, sizeof info) != sizeof info) return;
    end_.ending_signal = static_cast<int>(info.ssi_signo);
    asked_to_end_ = true;
    launcher_.end();
  }
  // Reads the available output and records, without waiting.
  void look() {
    std::string& words = end_.words;
    read_what_is_there(launcher_.out(), words, words.size() + kMostLauncherWords);
    drop_old_lines(end_);
    for (Record& record : records_.read()) {
      next_sequence_ = record.key().sequence() + 1;
      // The final record waits for the launcher's end, which may contradict it. The first records
      // wait until the MPI has printed its transports.
      if (record.has_final()) {
        last_ = std::move(record);
      } else if (record.has_started()) {
        started_ = std::move(record);
        end_.settings = value_of(started_->started().facts(), "mpi_settings", end_.settings);
      } else {
        held_.add(std::move(record));
      }
    }
    release(false);
  }
  // Writes the held records that are due; with `at_once` all of them.
  void release(bool at_once) {
    if (held_.empty()) return;
    const bool is_known = at_once || !started_ || !transport_facts(end_).empty();
    for (const Record& record : held_.due(is_known)) {
      report_started();
      static_cast<void>(sink_.write(record));
    }
  }
  // The started record, with the transports that the launcher has printed by now.
  void report_started() {
    if (!started_) return;
    auto& facts = *started_->mutable_started()->mutable_facts();
    for (const auto& [name, value] : transport_facts(end_)) facts[name] = value;
    static_cast<void>(sink_.write(*started_));
    started_.reset();
  }
  // Notes come before the final record, and take its number: records have no gaps.
  int finish() {
    release(true);
    report_started();
    Record record = last_.value_or(Record());
    if (last_)
      end_.final = last_->final();
    else
      record.mutable_key()->set_sequence(next_sequence_);
    const Final final = final_of(end_);
    for (const std::string& warning :
         {finalize_warning(end_.words), silence_warning(final, end_)}) {
      if (warning.empty()) continue;
      Record note;
      *note.mutable_key() = record.key();
      note.mutable_note()->set_severity(severity::kWarning);
      note.mutable_note()->set_text(warning);
      static_cast<void>(sink_.write(note));
      record.mutable_key()->set_sequence(record.key().sequence() + 1);
    }
    *record.mutable_final() = final;
    static_cast<void>(sink_.write(record));
    if (end_.ending_signal != 0) return exit_code_of_signal(end_.ending_signal);
    return exit_code_of(record.final().outcome());
  }

  MpiProcess launcher_;
  MpiRecords records_;
  const double deadline_ns_;
  const Fd signals_;
  RecordSink& sink_;
  LauncherEnd end_;
  bool asked_to_end_ = false;  // to end
  std::optional<Record> started_;
  HeldRecords held_;  // those after it
  std::optional<Record> last_;
  std::uint32_t next_sequence_ = 0;
};

// An error means that the launcher was not started.
Result<int> start_and_supervise(const StandaloneOptions& options, RecordSink& sink) {
  const MpiLauncher launcher =
      RG_TRY(find_mpi_launcher(value_of(options.parameters, "mpi", "openmpi"),
                               value_of(options.parameters, "mpi_installation")));
  const OwnFolder folder = RG_TRY(OwnFolder::make());
  const std::string socket = folder.path() + "/records";
  Fd listener = RG_TRY(listen_at_path(socket));
  std::vector<std::string> environment = with_installation(process_environment_words(), launcher);
  const auto is_set = [&](std::string_view name) {
    return options.parameters.contains(std::string(name));
  };
  // Facts about transports come from the MPI's own output.
  add_transport_reporting(launcher.mpi, std::ranges::any_of(mpi::kTunables, is_set), environment);
  MpiProcess started =
      RG_TRY(MpiProcess::start({.keeper = launcher.shim,
                                .program = launcher.program,
                                .words = launcher_command(launcher, options, socket),
                                .environment = std::move(environment),
                                .one_stream = true,
                                .grace_seconds = kTermSeconds}));
  const double deadline_ns = monotonic_now_ns() + (options.deadline_seconds + kGraceSeconds) * 1e9;
  return Launch(std::move(started), std::move(listener), deadline_ns,
                std::filesystem::path(launcher.program).filename().string(), sink)
      .supervise();
}

}  // namespace

// The ranks get parameters by --set, as a person would type them, so that they parse them anew.
std::vector<std::string> launcher_command(const MpiLauncher& launcher,
                                          const StandaloneOptions& options,
                                          const std::string& records_socket) {
  std::vector<std::string> words{launcher.program};
  words.insert(words.end(), launcher.options.begin(), launcher.options.end());
  if (const std::string binding = value_of(options.parameters, "binding", "default");
      binding != "default")
    words.insert(words.end(), {launcher.bind_option, binding});
  words.insert(words.end(), {"-n", fmt::format("{}", options.ranks), launcher.ranks_program,
                             options.row->info().name(), "--records-to", records_socket,
                             "--deadline", canonical_duration(options.deadline_seconds * 1e9)});
  if (options.raw_samples) words.emplace_back("--raw-samples");
  if (!options.endpoint.empty()) words.insert(words.end(), {"-d", options.endpoint});
  for (const auto& [name, value] : options.parameters)
    words.insert(words.end(), {"--set", fmt::format("{}={}", name, value)});
  return words;
}

// Writes the final record itself if nothing was started.
int run_mpi_launcher(const StandaloneOptions& options, RecordSink& sink) {
  RG_CHECK(::signal(SIGPIPE, SIG_IGN) != SIG_ERR);
  const auto ended = start_and_supervise(options, sink);
  if (ended) return *ended;
  RecordWriter records(sink, RecordKey{});
  return finish_task(tl::unexpected(ended.error()), records);
}

// The path is in a folder that only this user may enter.
Result<SocketSink> SocketSink::connect(const std::string& path) {
  SocketSink sink(launch::connect_to(path));
  if (sink.fd_) return sink;
  return fail(errno == ENAMETOOLONG ? Code::kInvalidArgument : Code::kUnavailable,
              "{}: connect: {}", path, std::strerror(errno));
}

// A record that is not read within kSendSeconds is an error, so that rank 0 does not hang.
Status SocketSink::write(const Record& record) {
  return write_all(fd_.get(), frame(record), kSendSeconds);
}

}  // namespace railgauge
