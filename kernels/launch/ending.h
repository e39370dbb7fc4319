// How a launcher's end and what rank 0 told are put together: one outcome, with the launcher's last
// lines where rank 0 told none that holds. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/core/base/record.pb.h"

namespace railgauge {

struct LauncherEnd {
  std::string name;  // "mpirun"
  int wait_status = 0;
  std::string words;           // what it said, the end of it
  std::string warnings{};      // of what it said before, UCX's of variables that nothing read
  std::string transports{};    // ... and those that tell what carries messages, each once
  std::string settings{};      // rank 0's fact mpi_settings: "UCX_TLS=rc OMPI_MCA_pml=ucx"
  std::optional<Final> final;  // rank 0's
  bool past_deadline = false;  // it was ended for that
  int ending_signal = 0;       // the person's, SIGINT or SIGTERM
};

// What a rank says that has told all it measured, and leaves because MPI_Finalize does not come
// back.
inline constexpr std::string_view kFinalizeHangs =
    "MPI_Finalize did not come back; ended without it\n";
inline constexpr unsigned kFinalizeSeconds = 10;  // so long it may take
// A warning for the record where a rank said so; "" otherwise.
std::string finalize_warning(const std::string& words);

// Lets go of all but the last kMostLauncherWords bytes of what it said, and keeps the warnings and
// what transport_facts() reads.
void let_go(LauncherEnd& end);

// The first of `settings` of which UCX says that nothing read it: it warns, and would go on. ""
// where there is none.
std::string ignored_setting(const std::string& words, const std::string& settings);

// The final record's body.
Final final_of(const LauncherEnd& end);

// At most so many bytes, not ending in the middle of a character.
std::string_view beginning_of(std::string_view text, std::size_t most_bytes);

// The last lines that say something, as one; long ones by their beginnings.
std::string last_lines(const std::string& words);

// What the MPI says that it really used, of the ranks' words: mpi_transports ("tcp/eth0", as UCX
// names transport and device), mpi_btl ("self,tcp", of Open MPI without UCX), mpi_provider
// ("verbs;ofi_rxm", of libfabric under Open MPI).
std::map<std::string, std::string> transport_facts(const std::string& words);
// Of all that it said.
std::map<std::string, std::string> transport_facts(const LauncherEnd& end);

// A warning for the record of ranks that passed and told nothing of the kind; "" otherwise.
std::string silence_warning(const Final& final, const LauncherEnd& end);

// How much of a launcher's words is kept, from their end.
inline constexpr std::size_t kMostLauncherWords = 64U << 10U;

}  // namespace railgauge
