// The device side of the fake NCCL: device communicators, by which the twins of our device code put
// and get between the ranks' windows.
#include <cstring>
#include <mutex>

#include "kernels/fakes/cuda/fake_gin.h"
#include "kernels/fakes/nccl/nccl_objects.h"

namespace railgauge::fake {
namespace {

constexpr std::uint64_t kWrongByte = 1;
constexpr std::uint64_t kNoBytes = 2;
constexpr std::uint64_t kNoSignal = 3;
constexpr std::uint64_t kTwoSignals = 4;

// Whether this transfer is the one that suffers.
bool suffers(std::uint64_t fault) {
  NcclControl& control = nccl_control();
  return control.gin_fault == fault && control.gin_transfers >= control.gin_fault_from;
}

void move(unsigned char* to, const unsigned char* from, std::uint64_t bytes) {
  if (bytes == 0 || suffers(kNoBytes)) return;
  std::memcpy(to, from, bytes);
  if (suffers(kWrongByte)) to[bytes / 2] ^= 1U;
}

void gin_put(void* world, int from, int to, std::uint64_t target, std::uint64_t source,
             std::uint64_t bytes) {
  auto& all = *static_cast<World*>(world);
  ++nccl_control().gin_transfers;
  move(all.window_of(to) + target, all.window_of(from) + source, bytes);
  if (!suffers(kNoSignal)) all.signal(to);
  if (suffers(kTwoSignals)) all.signal(to);
}

void gin_get(void* world, int to, int from, std::uint64_t source, std::uint64_t target,
             std::uint64_t bytes) {
  auto& all = *static_cast<World*>(world);
  ++nccl_control().gin_transfers;
  move(all.window_of(to) + target, all.window_of(from) + source, bytes);
}

std::uint64_t gin_signals(void* world, int rank) {
  return static_cast<World*>(world)->signals(rank);
}

}  // namespace

void World::set_window(int rank, void* memory) {
  const std::lock_guard lock(mutex_);
  windows_[rank] = static_cast<unsigned char*>(memory);
}
unsigned char* World::window_of(int rank) {
  const std::lock_guard lock(mutex_);
  return windows_[rank];
}
void World::signal(int rank) {
  const std::lock_guard lock(mutex_);
  ++signals_[rank];
}
std::uint64_t World::signals(int rank) {
  const std::lock_guard lock(mutex_);
  return signals_[rank];
}

// The requirements begin with a head from 2.29.2 on; a later library refuses GIN to headers before
// 2.30.
nc::Return make_gin(nc::Comm comm, int library_version, const void* requirements, void* made) {
  const auto* headed = static_cast<const nc::DeviceRequirements*>(requirements);
  const bool has_head = library_version >= nc::kFirstWithHead;
  if (has_head && (headed->magic != nc::kConfigMagic || headed->size != sizeof *headed ||
                   headed->version > static_cast<unsigned>(library_version)))
    return nc::kInvalidUsage;
  const auto release = static_cast<unsigned>(library_version);
  if (has_head && headed->version < unsigned{nc::kFirstFittingLater} &&
      headed->version != release) {
    set_last_words("Because of its use of GIN device kernels, it needs to be recompiled");
    return nc::kInvalidUsage;
  }
  const auto& wanted =
      has_head ? headed->body : *static_cast<const nc::DeviceRequirementsBody*>(requirements);
  if (!wanted.gin_force || wanted.gin_signals != 1) return nc::kInvalidArgument;
  if (nccl_control().no_gin != 0) {
    set_last_words(nccl_control().no_gin == 1 ? "GIN not supported."
                                              : "Invalid GIN gdaki backend version 7");
    return nc::kInvalidUsage;
  }
  const GinComm comm_of_gpu{.rank = comm->member->rank,
                            .ranks = comm->world->ranks(),
                            .kind = nc::kGinGdaki,
                            .world = comm->world.get(),
                            .put = gin_put,
                            .get = gin_get,
                            .signals = gin_signals};
  std::memcpy(made, &comm_of_gpu, sizeof comm_of_gpu);
  // All ranks meet here.
  const nc::Return met = comm->world->connect(*comm->member);
  if (met == nc::kSuccess) ++nccl_control().device_comms;
  return met;
}

}  // namespace railgauge::fake
