// Combines a launcher's end with rank 0's report: one outcome, with the launcher's last lines where
// rank 0 reported none that holds. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/core/base/record.pb.h"

namespace railgauge {

// All that is known of a launcher when it has ended.
struct LauncherEnd {
  // "mpirun".
  std::string name;
  int wait_status = 0;
  std::string words;         // what it said, the end of it
  std::string warnings{};    // of what it said before, UCX's of variables that nothing read
  std::string transports{};  // ... and the lines about transports, each once
  // Rank 0's fact mpi_settings: "UCX_TLS=rc OMPI_MCA_pml=ucx".
  std::string settings{};
  // The final record of rank 0, where it left one.
  std::optional<Final> final;
  // The launcher was ended because its deadline had come.
  bool past_deadline = false;
  // The signal of a person, SIGINT or SIGTERM; 0: none.
  int ending_signal = 0;
};

// The message of a rank that has reported all its figures and leaves because MPI_Finalize does not
// return.
inline constexpr std::string_view kFinalizeHangs =
    "MPI_Finalize did not come back; ended without it\n";
// How long MPI_Finalize may take, in seconds.
inline constexpr unsigned kFinalizeSeconds = 10;
// A warning for the record where a rank said so; "" otherwise.
std::string finalize_warning(const std::string& words);

// Drops all but the last kMostLauncherWords bytes of its output. Keeps the warnings and the lines
// that transport_facts() reads.
void drop_old_lines(LauncherEnd& end);

// The first of `settings` of which UCX says that nothing read it: it warns, and would go on. ""
// where there is none.
std::string ignored_setting(const std::string& words, const std::string& settings);

// The final record's body.
Final final_of(const LauncherEnd& end);

// The last lines that say something, as one; long ones by their beginnings.
std::string last_lines(const std::string& words);

// The transports that the MPI reports in the ranks' words: mpi_transports ("tcp/eth0", as UCX names
// transport and device), mpi_btl ("self,tcp", of Open MPI without UCX), mpi_provider
// ("verbs;ofi_rxm", of libfabric under Open MPI).
std::map<std::string, std::string> transport_facts(const std::string& words);
// From all its output.
std::map<std::string, std::string> transport_facts(const LauncherEnd& end);

// A warning for the record of ranks that passed and reported none of them; "" otherwise.
std::string silence_warning(const Final& final, const LauncherEnd& end);

// How much of a launcher's words is kept, from their end.
inline constexpr std::size_t kMostLauncherWords = 64U << 10U;

}  // namespace railgauge
