#include "kernels/nccl/communicator/meeting.h"

#include <algorithm>
#include <fstream>
#include <map>

#include <fmt/format.h>

#include "kernels/core/group/tcp.h"
#include "kernels/core/stack_hash.h"

namespace railgauge::nccl {
namespace {

// In L2 caches of the GPU that has the largest.
constexpr std::uint64_t kColdCaches = 2;

}  // namespace

std::string machine_identity() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return boot;
}

std::string host_identity() { return fmt::format("{} {}", host_name(), machine_identity()); }

std::string identity_of(const gpu::Gpu& gpu) {
  return gpu.uuid().empty() ? gpu.pci_address() : gpu.uuid();
}

std::uint64_t cold_bytes_of(const gpu::Gpu& gpu) {
  const int cache = std::max(0, gpu.attribute(cu::kL2CacheBytes).value_or(0));
  return kColdCaches * static_cast<std::uint64_t>(cache);
}

std::uint64_t cold_bytes_of_all(const std::vector<Told>& all) {
  std::uint64_t most = 0;
  for (const Told& one : all) most = std::max<std::uint64_t>(most, one.cold_bytes());
  return most;
}

Status check_gpus(const std::vector<Told>& all) {
  std::map<std::string, std::size_t> users;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const auto [first, is_first] =
        users.try_emplace(all[rank].host() + " " + all[rank].gpu(), rank);
    if (!is_first)
      return fail(Code::kFailedPrecondition,
                  "ranks {} and {}: both use {}; NCCL needs a GPU for each rank", first->second,
                  rank, all[rank].gpu());
  }
  return {};
}

void number_gpus(const std::vector<Told>& all, Told& told) {
  std::map<std::string, std::uint32_t> next;
  std::vector<std::uint32_t> numbers;
  bool any = false;
  for (const Told& one : all) {
    numbers.push_back(one.chosen() ? 0 : next[one.host()]++);
    any = any || numbers.back() != 0;
  }
  if (any) told.mutable_gpus()->Assign(numbers.begin(), numbers.end());
}

// Rank 0 alone collects the facts of all ranks and announces the result; the others get its unique
// id with its hello.
Result<Met> meet_ranks(Team& team, const Attendant& mine,
                       const std::function<Status(const std::string& endpoint)>& open,
                       const std::function<const gpu::Gpu&()>& gpu) {
  team.begin_step("meeting");
  Told hello;
  hello.set_host(stack_hash({{"host", host_identity()}}));
  hello.set_chosen(mine.chosen);
  hello.set_nccl(loaded_nccl().version);
  hello.set_parameters(stack_hash(*mine.parameters));
  Status ready = mine.ready;
  if (ready && team.leads()) {
    auto unique_id = make_unique_id();
    if (unique_id)
      hello.set_unique_id(*unique_id);
    else
      ready = tl::unexpected(unique_id.error());
  }
  const auto met = RG_TRY(team.agree(ready, hello));
  Told numbers;
  if (team.leads()) number_gpus(met, numbers);
  const auto numbered =
      RG_TRY(team.agree(team.leads() ? check_alike(met) : Status{}, std::move(numbers)));
  const auto& gpus = numbered.front().gpus();
  const int rank = static_cast<int>(team.rank());
  const Status opened =
      open(mine.chosen ? "" : fmt::format("gpu{}", rank < gpus.size() ? gpus[rank] : 0));
  Told own;
  own.set_host(hello.host());
  if (opened) own.set_gpu(identity_of(gpu()));
  if (opened && mine.is_cold) own.set_cold_bytes(cold_bytes_of(gpu()));
  const auto chosen = RG_TRY(team.agree(opened, own));
  Told common;
  common.set_cold_bytes(cold_bytes_of_all(chosen));
  const auto last =
      RG_TRY(team.agree(team.leads() ? check_gpus(chosen) : Status{}, std::move(common)));
  return Met{.unique_id = met.front().unique_id(),
             .cold_bytes = last.front().cold_bytes(),
             .host = hello.host()};
}

Status check_alike(const std::vector<Told>& all) {
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank].parameters() != all[0].parameters())
      return invalid("rank {}: its parameters are not those of rank 0", rank);
    if (all[rank].nccl() != all[0].nccl())
      return fail(Code::kFailedPrecondition,
                  "rank {}: it has NCCL {}, rank 0 has {}; install the same on all", rank,
                  all[rank].nccl(), all[0].nccl());
  }
  return {};
}

}  // namespace railgauge::nccl
