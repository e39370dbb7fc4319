// The rendezvous seam over MPI itself. MPI has no deadlines: a rank that is gone ends all by the
// launcher, and what hangs by the runner's watchdog.
#pragma once

#include <string>
#include <vector>

#include "kernels/core/group/group.h"
#include "kernels/mpi/binding/calls.h"
#include "kernels/mpi/binding/launched.h"

namespace railgauge::mpi {

class MpiGroup final : public Group {
 public:
  // `launched`: what rank() says before MPI is initialised, which the first exchange does.
  MpiGroup(Calls& calls, const LaunchedRank& launched) : calls_(calls), launched_(launched) {}
  [[nodiscard]] std::uint32_t rank() const override { return launched_.rank; }
  [[nodiscard]] std::uint32_t size() const override { return launched_.size; }
  // kInternal where MPI counts the ranks otherwise than the launcher: one of another MPI.
  Result<std::vector<std::string>> exchange(std::string mine, double timeout_seconds) override;

 private:
  Calls& calls_;
  const LaunchedRank launched_;
};

}  // namespace railgauge::mpi
