#include "kernels/nccl/communicator.h"

#include <time.h>

#include <cstring>

#include <fmt/format.h>

#include "kernels/core/clock.h"

namespace railgauge::nccl {
namespace {

constexpr long kNapNs = 100'000;
constexpr double kSpinNs = 2e6;         // an event is looked at without a nap for so long,
constexpr double kHealthEveryNs = 5e6;  // and NCCL's own state this often

void nap(long ns) {
  const timespec time{.tv_sec = 0, .tv_nsec = ns};
  nanosleep(&time, nullptr);
}

}  // namespace

Result<std::string> make_unique_id() {
  nc::UniqueId id{};
  const Nccl& nccl = loaded_nccl();
  RG_TRY_OK(nccl_status(nccl, nccl.get_unique_id(&id), "NCCL: make the ranks' unique id"));
  return std::string(id.internal, sizeof id.internal);
}

Result<Communicator> Communicator::join(const gpu::Gpu& gpu, std::uint32_t ranks,
                                        std::uint32_t rank, const std::string& unique_id,
                                        double deadline_monotonic_ns) {
  nc::UniqueId id{};
  if (unique_id.size() != sizeof id.internal)
    return fail(Code::kInternal, fmt::format("rank 0: its unique id has {} bytes, not {}",
                                             unique_id.size(), sizeof id.internal));
  std::memcpy(id.internal, unique_id.data(), sizeof id.internal);
  nc::Config config;
  config.blocking = 0;
  Communicator made;
  made.gpu_ = &gpu;
  nc::Comm raw = nullptr;
  const nc::Return returned = loaded_nccl().comm_init_rank_config(&raw, static_cast<int>(ranks), id,
                                                                  static_cast<int>(rank), &config);
  made.comm_ = Handle<Traits>(raw);
  const std::string act =
      fmt::format("{}: join {} rank{} as rank {}", gpu.name(), ranks, ranks == 1 ? "" : "s", rank);
  if (raw == nullptr && returned == nc::kSuccess)
    return fail(Code::kInternal, act + ": NCCL gave no communicator");
  RG_TRY_OK(made.done(returned, act, deadline_monotonic_ns));
  return made;
}

Status Communicator::done(nc::Return returned, std::string_view act,
                          double deadline_monotonic_ns) const {
  const Nccl& nccl = loaded_nccl();
  while (returned == nc::kInProgress) {
    nc::Return state = nc::kSuccess;
    RG_TRY_OK(nccl_status(nccl, nccl.comm_get_async_error(comm_.get(), &state), act, comm_.get()));
    returned = state;
    if (returned != nc::kInProgress) break;
    if (monotonic_now_ns() >= deadline_monotonic_ns)
      return fail(Code::kDeadlineExceeded,
                  fmt::format("{}: not done at the deadline; a rank is missing, or its address "
                              "cannot be reached (NCCL_SOCKET_IFNAME)",
                              act));
    nap(kNapNs);
  }
  return nccl_status(nccl, returned, act, comm_.get());
}

Status Communicator::health(std::string_view act) const {
  const Nccl& nccl = loaded_nccl();
  nc::Return state = nc::kSuccess;
  RG_TRY_OK(nccl_status(nccl, nccl.comm_get_async_error(comm_.get(), &state), act, comm_.get()));
  return state == nc::kInProgress ? Status{} : nccl_status(nccl, state, act, comm_.get());
}

Status Communicator::wait(const gpu::Event& event, double deadline_monotonic_ns,
                          std::string_view act) const {
  const Cuda& cuda = loaded_cuda();
  const double begin_ns = monotonic_now_ns();
  double next_health_ns = begin_ns + kHealthEveryNs;
  while (true) {
    const cu::Return returned = cuda.event_query(event.get());
    if (returned != cu::kNotReady) return gpu_status(*gpu_, returned, act);
    const double now_ns = monotonic_now_ns();
    if (now_ns >= next_health_ns) {
      RG_TRY_OK(health(act));
      next_health_ns = now_ns + kHealthEveryNs;
    }
    if (now_ns >= deadline_monotonic_ns)
      return fail(Code::kDeadlineExceeded,
                  fmt::format("{}: {}: not done {:.1f} s after it was waited for; another rank is "
                              "gone or stuck",
                              gpu_->name(), act, (now_ns - begin_ns) / 1e9));
    if (now_ns - begin_ns >= kSpinNs) nap(kNapNs / 2);
  }
}

Status Communicator::finish(double deadline_monotonic_ns) {
  const Nccl& nccl = loaded_nccl();
  const std::string act = gpu_->name() + ": end the communicator";
  RG_TRY_OK(done(nccl.comm_finalize(comm_.get()), act, deadline_monotonic_ns));
  const nc::Return returned = nccl.comm_destroy(comm_.release());
  // Only what is left of this rank is freed in the background.
  return returned == nc::kInProgress ? Status{} : nccl_status(nccl, returned, act);
}

}  // namespace railgauge::nccl
