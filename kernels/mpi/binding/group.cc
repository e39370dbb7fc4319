#include "kernels/mpi/binding/group.h"

#include <algorithm>

#include <fmt/format.h>

namespace railgauge::mpi {

Result<std::vector<std::string>> MpiGroup::exchange(std::string mine, double) {
  RG_CHECK(mine.size() <= kMaxPayload);
  RG_TRY_OK(calls_.init());
  if (calls_.rank() != launched_.rank || calls_.size() != launched_.size)
    return fail(
        Code::kFailedPrecondition,
        fmt::format("rank {}: {} counts {} ranks and the launcher {}; start it by the "
                    "launcher of this MPI",
                    launched_.rank, calls_.implementation(), calls_.size(), launched_.size));
  const std::uint64_t length = mine.size();
  std::vector<std::uint64_t> lengths(size());
  calls_.all_gather(&length, sizeof length, lengths.data());
  const std::size_t room = *std::ranges::max_element(lengths);
  mine.resize(room);
  std::string all(room * size(), '\0');
  if (room > 0) calls_.all_gather(mine.data(), room, all.data());
  std::vector<std::string> out;
  for (std::size_t i = 0; i < lengths.size(); ++i) out.push_back(all.substr(i * room, lengths[i]));
  return out;
}

}  // namespace railgauge::mpi
