// The first words of a task's ranks: what each learns of the others before they join a
// communicator. Pure but for host_identity().
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "kernels/core/base/result.h"
#include "kernels/gpu/device.h"
#include "kernels/nccl/communicator/peer.pb.h"
#include "kernels/nccl/communicator/team.h"

namespace railgauge::nccl {

// Returns the same text on ranks of one host (or of one container), another one elsewhere.
std::string host_identity();
// Returns the same text on ranks whose kernel is the same one, also in several containers.
std::string machine_identity();
// Returns the UUID where the driver reports one, else the PCI address.
std::string identity_of(const gpu::Gpu& gpu);

// Return the memory through which cold calls move, each way, in bytes: for one GPU, and for the one
// of all ranks that needs the most. 0 where the driver does not report the L2 cache: all calls are
// then in one place.
std::uint64_t cold_bytes_of(const gpu::Gpu& gpu);
std::uint64_t cold_bytes_of_all(const std::vector<Told>& all);

// Two ranks on one GPU would wait for each other for ever: kFailedPrecondition names them.
Status check_gpus(const std::vector<Told>& all);
// Numbers the GPUs of ranks without a given GPU: on each host the first takes gpu0, and so on.
// Changes nothing when each rank is alone on its host.
void number_gpus(const std::vector<Told>& all, Told& told);
// One rank at the meeting.
struct Attendant {
  Status ready{};  // its own result so far
  const std::map<std::string, std::string>* parameters = nullptr;
  bool chosen = false;   // its GPU was given
  bool is_cold = false;  // its calls move through cold memory
};
// The knowledge that all share then. The unique id is rank 0's.
struct Met {
  std::string unique_id;
  std::uint64_t cold_bytes = 0;
  std::string host;  // this rank's, as a hash
};
// Meets: checks that all ranks are alike and have a GPU each, and distributes rank 0's unique id.
// `open` opens the GPU of the endpoint, or the given one for ""; `gpu` returns it then.
Result<Met> meet_ranks(Team& team, const Attendant& mine,
                       const std::function<Status(const std::string& endpoint)>& open,
                       const std::function<const gpu::Gpu&()>& gpu);

// Ranks with other parameters or another NCCL would wait for each other in calls that do not match:
// kInvalidArgument or kFailedPrecondition names the rank.
Status check_alike(const std::vector<Told>& all);

}  // namespace railgauge::nccl
