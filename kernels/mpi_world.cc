#include "kernels/mpi_world.h"

#include "kernels/mpi/binding/calls.h"
#include "kernels/mpi/binding/group.h"
#include "kernels/mpi/binding/launched.h"

namespace railgauge {

std::string mpi_of_program() {
  const mpi::Calls* calls = mpi::linked();
  return calls == nullptr ? std::string() : calls->implementation();
}

std::optional<MpiWorld> mpi_world() {
  if (mpi::linked() == nullptr) return std::nullopt;
  const auto launched = mpi::launched_rank(mpi::process_environment());
  if (!launched) return std::nullopt;
  return MpiWorld{.rank = launched->rank, .size = launched->size};
}

std::unique_ptr<Group> join_mpi_world(const MpiWorld& world) {
  return std::make_unique<mpi::MpiGroup>(*mpi::linked(),
                                         mpi::LaunchedRank{.rank = world.rank, .size = world.size});
}

void leave_mpi_world() {
  if (mpi::Calls* calls = mpi::linked()) calls->finalize();
}

}  // namespace railgauge
