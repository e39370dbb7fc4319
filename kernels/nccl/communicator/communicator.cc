#include "kernels/nccl/communicator/communicator.h"

#include <chrono>
#include <cstring>
#include <thread>

#include <fmt/format.h>

namespace railgauge::nccl {
namespace {

constexpr std::chrono::microseconds kNap{100};

}  // namespace

Result<std::string> make_unique_id() {
  nc::UniqueId id{};
  const Nccl& nccl = loaded_nccl();
  RG_TRY_OK(nccl_status(nccl, nccl.get_unique_id(&id), "NCCL: make the ranks' unique id"));
  return std::string(id.internal, sizeof id.internal);
}

Result<Communicator> Communicator::join(const gpu::Gpu& gpu, const Progress& progress,
                                        std::uint32_t ranks, std::uint32_t rank,
                                        const std::string& unique_id) {
  nc::UniqueId id{};
  if (unique_id.size() != sizeof id.internal)
    return fail(Code::kInternal, fmt::format("rank 0: its unique id has {} bytes, not {}",
                                             unique_id.size(), sizeof id.internal));
  std::memcpy(id.internal, unique_id.data(), sizeof id.internal);
  nc::Config config;
  config.blocking = 1;
  Communicator made;
  made.gpu_ = &gpu;
  made.progress_ = &progress;
  nc::Comm raw = nullptr;
  const nc::Return returned = loaded_nccl().comm_init_rank_config(&raw, static_cast<int>(ranks), id,
                                                                  static_cast<int>(rank), &config);
  const std::string act =
      fmt::format("{}: join {} rank{} as rank {}", gpu.name(), ranks, ranks == 1 ? "" : "s", rank);
  // A handle beside an error is none of ours to end.
  if (returned != nc::kSuccess && returned != nc::kInProgress)
    return tl::unexpected(nccl_status(loaded_nccl(), returned, act).error());
  if (raw == nullptr) return fail(Code::kInternal, act + ": NCCL gave no communicator");
  made.comm_ = Handle<Traits>(raw);
  RG_TRY_OK(made.done(returned, act));
  return made;
}

Status Communicator::done(nc::Return returned, std::string_view act) const {
  const Nccl& nccl = loaded_nccl();
  while (returned == nc::kInProgress) {
    if (progress_->stopped()) return progress_->stopped_at(act);
    std::this_thread::sleep_for(kNap);
    nc::Return state = nc::kSuccess;
    RG_TRY_OK(nccl_status(nccl, nccl.comm_get_async_error(comm_.get(), &state), act, comm_.get()));
    returned = state;
  }
  return nccl_status(nccl, returned, act, comm_.get());
}

Status Communicator::health() const {
  if (!comm_) return {};
  const Nccl& nccl = loaded_nccl();
  constexpr std::string_view kAct = "NCCL in the background";
  nc::Return state = nc::kSuccess;
  RG_TRY_OK(nccl_status(nccl, nccl.comm_get_async_error(comm_.get(), &state), kAct, comm_.get()));
  return state == nc::kInProgress ? Status{} : nccl_status(nccl, state, kAct, comm_.get());
}

Status Communicator::finish() {
  const Nccl& nccl = loaded_nccl();
  const std::string act = gpu_->name() + ": end the communicator";
  RG_TRY_OK(done(nccl.comm_finalize(comm_.get()), act));
  const nc::Return returned = nccl.comm_destroy(comm_.release());
  // Only what is left of this rank is freed in the background.
  return returned == nc::kInProgress ? Status{} : nccl_status(nccl, returned, act);
}

}  // namespace railgauge::nccl
