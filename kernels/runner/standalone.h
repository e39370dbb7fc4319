// Standalone use: two terminals with `--listen` and `--connect`, several ranks on this host, or one
// rank alone. The kernel runs in a child process, so that a crash, a hang or a library's exit()
// still gives a report and one of our exit codes.
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

// Returns the present time in the format of reports (rfc3339.h).
std::string now_in_words();
// Returns a RunnerReport or ProfileReport that starts now.
template <class Report>
Report begin_report() {
  Report report;
  report.set_schema_version(kReportSchemaVersion);
  report.set_railgauge_version(RAILGAUGE_VERSION);
  report.set_started_at(now_in_words());
  return report;
}

// Writes a second file and renames it, so that a reader never sees half a document. kUnavailable:
// the file cannot be written.
Status write_document(const std::string& path, const std::string& text);

// Returns wants_colour() for this process's stdout: a terminal that is not dumb, without NO_COLOR.
bool stdout_takes_colour();

// The result of one run, before it is printed.
struct StandaloneEnd {
  // Always complete. The exit code follows from its outcome or from the signal.
  RunnerReport report;
  int exit_code = 0;
  // A signal ended the run: do not start further runs.
  bool interrupted = false;
};

// Checks parameters, ranks and endpoints. kInvalidArgument: run_standalone() would refuse the
// options.
Status check_standalone(const StandaloneOptions& options);
// Makes one run alone or with this host's ranks. The options must have passed check_standalone().
// Calls `on_record` with each record on arrival. Conditions: see run_standalone().
StandaloneEnd measure_standalone(const StandaloneOptions& options,
                                 const std::function<void(const Record&)>& on_record);

// Runs, prints, and returns the exit code. With `keep` it serves peers until a signal. Call
// block_ending_signals() first; no other thread may run.
int run_standalone(const StandaloneOptions& options);

}  // namespace railgauge
