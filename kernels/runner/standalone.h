// Standalone use: two terminals with `--listen` and `--connect`, several ranks on this host, or one
// kernel alone. The kernel runs in a child process, so that a crash, a hang or a library's exit()
// still ends in a report and in one of our exit codes.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "kernels/core/base/record.pb.h"
#include "kernels/core/group/tcp.h"
#include "kernels/core/kernel.h"
#include "kernels/runner/task/standalone_options.h"

namespace railgauge {

// The time of day as reports have it (rfc3339.h).
std::string now_in_words();
// A RunnerReport or ProfileReport of what begins now.
template <class Report>
Report begin_report() {
  Report report;
  report.set_schema_version(kReportSchemaVersion);
  report.set_railgauge_version(RAILGAUGE_VERSION);
  report.set_started_at(now_in_words());
  return report;
}

// Writes a second file and renames it, so that a reader never sees half a document. kUnavailable.
Status write_document(const std::string& path, const std::string& text);

// wants_colour() of this process's standard output: a terminal, and neither NO_COLOR nor a dumb
// one.
bool stdout_takes_colour();

// The result of one run, before anything of it is printed.
struct StandaloneEnd {
  // The report is complete in each case; the exit code follows from its outcome or the signal.
  RunnerReport report;
  int exit_code = 0;
  // By a signal: what was to follow is not wanted.
  bool interrupted = false;
};

// kInvalidArgument for options that run_standalone() would refuse: parameters, ranks, endpoints.
Status check_standalone(const StandaloneOptions& options);
// One run alone or with this host's ranks, of options that are right; hands over the records as
// they come. Conditions as run_standalone.
StandaloneEnd measure_standalone(const StandaloneOptions& options,
                                 const std::function<void(const Record&)>& on_record);

// Runs, prints, and returns the exit code. With `keep` it serves until a signal. Call
// block_ending_signals() first, and start no thread before.
int run_standalone(const StandaloneOptions& options);

}  // namespace railgauge
