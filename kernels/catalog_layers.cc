// The layers below the kernels as catalog.h shows them: GPUs, verbs probes, MPI ranks.
#include <array>

#include "kernels/catalog.h"
#include "kernels/gpu/device.h"
#include "kernels/gpu/device_code.h"
#include "kernels/gpu/reuse.h"
#include "kernels/mpi/binding/calls.h"
#include "kernels/mpi/binding/launched.h"
#include "kernels/verbs/memory/registration_probe.h"
#include "kernels/verbs/transport/port_probe.h"

namespace railgauge::gpu {
extern const DeviceCode kPatternCode;
extern const DeviceCode kFlagAnswerCode;
}  // namespace railgauge::gpu
namespace railgauge::cuda {
extern const gpu::DeviceCode kCopyCode;
extern const gpu::DeviceCode kChaseCode;
}  // namespace railgauge::cuda
namespace railgauge::nccl {
extern const gpu::DeviceCode kVerifyCode;
}  // namespace railgauge::nccl

namespace railgauge {

Result<int> count_gpus() { return gpu::Gpu::count(); }

std::shared_ptr<void> keep_gpus_warm() { return std::make_shared<gpu::KeepWarm>(); }

// The newest driver that any of the embedded GPU programs needs: each kernel brings code of its
// own.
std::string gpu_code_needs() {
  constexpr std::array kCodes{&gpu::kPatternCode, &cuda::kCopyCode, &cuda::kChaseCode,
                              &gpu::kFlagAnswerCode, &nccl::kVerifyCode};
  return gpu::driver_needed(kCodes);
}

// Answers a malformed pair with an error state, because the agent reads one line of JSON for each
// pair of its request.
GpuDirectProbe probe_gpudirect(std::string_view pair) {
  if (const auto parsed = verbs::parse_probe_pair(pair)) return verbs::probe_registration(*parsed);
  GpuDirectProbe wrong;
  wrong.set_state("error");
  wrong.set_text("the pair is not GPU@PCI_ADDRESS+NIC");
  return wrong;
}

PortProbe probe_port(std::string_view endpoint) { return verbs::probe_port(std::string(endpoint)); }

std::string mpi_of_program() {
  const mpi::Calls* calls = mpi::linked();
  return calls == nullptr ? std::string() : calls->implementation();
}

std::vector<std::string> launcher_programs() {
  const auto launched = mpi::launched_rank(mpi::process_environment());
  if (!launched || launched->size < 2) return {};
  if (!launched->mpi.empty()) return {launched->mpi};
  return {"openmpi", "mpich"};
}

// Absent in railgauge-runner, which has no MPI, and in a program with an MPI that a person started
// by hand: without a launcher it cannot meet other ranks.
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

// Without an MPI there is nothing to end.
void leave_mpi_world() {
  if (mpi::Calls* calls = mpi::linked()) calls->finalize();
}

}  // namespace railgauge
