// Faults of the fake NCCL: one result of many suffers.
#include <utility>

#include "kernels/fakes/cuda/cuda_objects.h"
#include "kernels/fakes/nccl/nccl_objects.h"

namespace railgauge::fake {
namespace {

// NcclControl::fault.
constexpr std::uint64_t kCorrupt = 1;
constexpr std::uint64_t kDrop = 2;
constexpr std::uint64_t kRepeat = 3;
constexpr std::uint64_t kSwap = 4;

// As a copy of the fake driver, which a test can make fail.
void put(void* to, const Bytes& from) {
  if (!from.empty())
    copy_bytes(reinterpret_cast<std::uintptr_t>(to), reinterpret_cast<std::uintptr_t>(from.data()),
               from.size());
}

}  // namespace

void Deliveries::place(int rank, void* to, Bytes result) {
  const NcclControl& control = nccl_control();
  if (control.fault == 0 || control.fault_of != static_cast<std::uint64_t>(rank) + 1)
    return put(to, result);
  if (void* late = std::exchange(held_to_, nullptr); late != nullptr) {
    const bool alike = held_.size() == result.size();
    put(late, alike ? result : held_);
    return put(to, alike ? held_ : result);
  }
  const bool suffers = ++count_ % control.fault_every == 0;
  const Bytes before = std::exchange(before_, result);
  if (suffers && control.fault == kDrop) return;
  if (suffers && control.fault == kSwap) {
    held_ = std::move(result);
    held_to_ = to;
    return;
  }
  if (suffers && control.fault == kCorrupt) result[result.size() / 2] ^= 1U;
  put(to, suffers && control.fault == kRepeat && before.size() == result.size() ? before : result);
}

}  // namespace railgauge::fake
