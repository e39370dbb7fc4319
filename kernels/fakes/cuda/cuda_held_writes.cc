// Adapter writes into GPU memory that the GPU does not see yet, as on a platform without ordered
// remote writes. They are hidden from running kernels until the host flushes, the adapter reads
// there, a GPU gets work, or their time is over.
#include <chrono>
#include <cstring>
#include <deque>
#include <mutex>
#include <vector>

#include "kernels/fakes/cuda/cuda_objects.h"

namespace railgauge::fake {
namespace {

using Time = std::chrono::steady_clock::time_point;

struct HeldWrite {
  cu::DevicePtr to = 0;
  std::vector<unsigned char> bytes;
  Time due;
};
struct Held {
  std::mutex mutex;
  std::deque<HeldWrite> writes;  // in their order
};
Held& held() {
  static auto* made = new Held;
  return *made;
}

void settle_until(Time now) {
  Held& all = held();
  const std::lock_guard lock(all.mutex);
  for (; !all.writes.empty() && all.writes.front().due <= now; all.writes.pop_front()) {
    const HeldWrite& first = all.writes.front();
    if (first.bytes.empty()) continue;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): addresses are numbers in this interface
    auto* to = reinterpret_cast<unsigned char*>(first.to);
    const std::size_t last = first.bytes.size() - 1;
    std::memcpy(to, first.bytes.data(), last);
    __atomic_store_n(to + last, first.bytes[last], __ATOMIC_RELEASE);
  }
}

}  // namespace

void settle_writes() { settle_until(Time::max()); }
void settle_overdue_writes() { settle_until(std::chrono::steady_clock::now()); }

}  // namespace railgauge::fake

namespace fake = railgauge::fake;

// For the fake libibverbs, which is another library: not counted, never failing.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {

// Whether the write is held back; else the caller does it.
int railgauge_fake_cuda_hold(cu::DevicePtr to, const void* bytes, std::size_t count) {
  const std::uint64_t hold_us = fake::cuda_control().hold_writes_us;
  if (hold_us == 0 || !fake::is_on_gpu(to, count)) return 0;
  const auto* from = static_cast<const unsigned char*>(bytes);
  const std::lock_guard lock(fake::held().mutex);
  fake::held().writes.push_back(
      {to,
       {from, from + count},
       std::chrono::steady_clock::now() + std::chrono::microseconds(hold_us)});
  return 1;
}

void railgauge_fake_cuda_settle() { fake::settle_writes(); }

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
