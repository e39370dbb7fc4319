// Combines a launcher's end with rank 0's report to one outcome, whose reason is the launcher's
// last lines when rank 0's report is missing or contradicted. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/core/base/record.pb.h"

namespace railgauge {

// The known facts about a launcher that has ended.
struct LauncherEnd {
  // "mpirun".
  std::string name;
  int wait_status = 0;
  std::string words;         // the end of its output
  std::string warnings{};    // from earlier output: UCX's warnings of unused variables
  std::string transports{};  // from earlier output: lines about transports, each once
  // Rank 0's fact mpi_settings: "UCX_TLS=rc OMPI_MCA_pml=ucx".
  std::string settings{};
  // Rank 0's final record, if any.
  std::optional<Final> final;
  // The launcher was ended at its deadline.
  bool past_deadline = false;
  // SIGINT or SIGTERM from a person; 0: none.
  int ending_signal = 0;
};

// Printed by a rank that has reported all its figures and leaves because MPI_Finalize does not
// return.
inline constexpr std::string_view kFinalizeHangs =
    "MPI_Finalize did not come back; ended without it\n";
// The limit of MPI_Finalize, in seconds.
inline constexpr unsigned kFinalizeSeconds = 10;
// Returns a warning for the record if `words` has kFinalizeHangs; else "".
std::string finalize_warning(const std::string& words);

// Drops all but the last kMostLauncherWords bytes of its output. Keeps the warnings and the lines
// that transport_facts() reads.
void drop_old_lines(LauncherEnd& end);

// Returns the name of the first of `settings` that UCX reports as unused, or "". UCX only warns and
// continues without the setting.
std::string ignored_setting(const std::string& words, const std::string& settings);

// Returns the final record: rank 0's unless the launcher's end contradicts it, or UCX did not read
// a setting (waived).
Final final_of(const LauncherEnd& end);

// Joins the last lines that have a letter or digit; cuts long lines.
std::string last_lines(const std::string& words);

// Returns the transports that the ranks' MPI prints: mpi_transports_configured ("tcp/eth0", UCX's
// transport and device), mpi_btl_configured ("self,tcp", Open MPI without UCX),
// mpi_provider_configured ("verbs;ofi_rxm", libfabric under Open MPI).
std::map<std::string, std::string> transport_facts(const std::string& words);
// Does the same for all of a launcher's output.
std::map<std::string, std::string> transport_facts(const LauncherEnd& end);

// Returns a warning if the ranks passed without reporting a transport; else "".
std::string silence_warning(const Final& final, const LauncherEnd& end);

// The bytes of output that drop_old_lines() keeps, from the end.
inline constexpr std::size_t kMostLauncherWords = 64U << 10U;

}  // namespace railgauge
