// Reads the variables by which launchers number their processes, and exchanges messages between the
// ranks.
#include "kernels/mpi/binding/launched.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include <fmt/format.h>

#include "kernels/core/text/units.h"

namespace railgauge::mpi {
namespace {

// The variables of one launcher.
struct Names {
  const char* rank;
  const char* size;
  const char* local_rank;
  const char* mpi;
};
// A job's own environment has SLURM_PROCID too, so only a step with more variables is one of srun.
constexpr std::array kLaunchers{
    Names{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "openmpi"},
    Names{"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK", "mpich"},
    Names{"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "mpich"},
    Names{"PMIX_RANK", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", ""}};

std::optional<std::uint32_t> number(const Environment& environment, const char* name) {
  const auto text = environment(name);
  if (!text) return std::nullopt;
  const auto value = parse_integer(*text);
  if (!value || *value < 0 || *value > 1'000'000) return std::nullopt;
  return static_cast<std::uint32_t>(*value);
}

}  // namespace

// A function and not a map, so that tests give an environment of their own.
Environment process_environment() {
  return [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
}

// The first launcher whose rank and size are both there and fit together.
std::optional<LaunchedRank> launched_rank(const Environment& environment) {
  for (const Names& names : kLaunchers) {
    const auto rank = number(environment, names.rank);
    const auto size = number(environment, names.size);
    if (!rank || !size || *rank >= *size) continue;
    return LaunchedRank{.rank = *rank,
                        .size = *size,
                        .local_rank = number(environment, names.local_rank).value_or(*rank),
                        .mpi = names.mpi};
  }
  return std::nullopt;
}

// Two collectives: the lengths, then all payloads padded to the longest, since MPI_Allgather takes
// equal shares. The timeout is not used: MPI calls have none.
Result<std::vector<std::string>> MpiGroup::exchange(std::string mine, double) {
  RG_CHECK(mine.size() <= kMaxPayload);
  RG_TRY_OK(calls_.init());
  if (calls_.rank() != launched_.rank || calls_.size() != launched_.size)
    return fail(
        Code::kFailedPrecondition,
        "rank {}: {} counts {} ranks and the launcher {}; start it by the launcher of this MPI",
        launched_.rank, calls_.implementation(), calls_.size(), launched_.size);
  const std::uint64_t length = mine.size();
  std::vector<std::uint64_t> lengths(size());
  calls_.all_gather(&length, sizeof length, lengths.data());
  // MPI_Allgather takes the same length of every rank.
  const std::size_t room = *std::ranges::max_element(lengths);
  mine.resize(room);
  std::string all(room * size(), '\0');
  if (room > 0) calls_.all_gather(mine.data(), room, all.data());
  std::vector<std::string> out;
  for (std::size_t i = 0; i < lengths.size(); ++i) out.push_back(all.substr(i * room, lengths[i]));
  return out;
}

}  // namespace railgauge::mpi
