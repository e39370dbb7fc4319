#include "kernels/fakes/verbs/fake_gpu_wire.h"

#include <dlfcn.h>
#include <fcntl.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>

namespace railgauge::fake {
namespace {

// Functions of the driver API as kernels/dl/cuda.h declares them; this library is built without
// that table.
using DevicePtr = unsigned long long;
constexpr int kMemoryType = 2;
constexpr int kDeviceOrdinal = 9;
constexpr unsigned kOnDevice = 2;
constexpr unsigned kNonBlocking = 1;

struct Driver {
  bool fake = false;
  int (*is_fake_gpu)(DevicePtr, std::size_t) = nullptr;
  int (*fake_export)(int, DevicePtr*, unsigned long long*) = nullptr;
  int (*fake_hold)(DevicePtr, const void*, std::size_t) = nullptr;
  void (*fake_settle)() = nullptr;
  int (*attribute)(void*, int, DevicePtr) = nullptr;
  int (*retain)(void**, int) = nullptr;
  int (*push)(void*) = nullptr;
  int (*pop)(void**) = nullptr;
  int (*make_stream)(void**, unsigned) = nullptr;
  int (*wait)(void*) = nullptr;
  int (*to_gpu)(DevicePtr, const void*, std::size_t, void*) = nullptr;
  int (*from_gpu)(void*, DevicePtr, std::size_t, void*) = nullptr;
};

template <class Function>
bool find(void* library, const char* name, Function& slot) {
  slot = reinterpret_cast<Function>(dlsym(library, name));
  return slot != nullptr;
}

// The loaded one once somebody asked for it, which registering memory does.
std::atomic<const Driver*> g_known{nullptr};

// The loaded one, or nullptr; it stays loaded.
const Driver* driver() {
  static std::mutex mutex;
  static const Driver* found = nullptr;
  const std::lock_guard lock(mutex);
  if (found != nullptr) return found;
  const char* other = std::getenv("RAILGAUGE_LIBCUDA");
  const char* name = other != nullptr && *other != '\0' ? other : "libcuda.so.1";
  void* library = dlopen(name, RTLD_NOLOAD | RTLD_LAZY);
  if (library == nullptr) return nullptr;
  Driver made;
  made.fake = find(library, "railgauge_fake_cuda_is_gpu_memory", made.is_fake_gpu) &&
              find(library, "railgauge_fake_cuda_exported", made.fake_export) &&
              find(library, "railgauge_fake_cuda_hold", made.fake_hold) &&
              find(library, "railgauge_fake_cuda_settle", made.fake_settle);
  const bool whole = find(library, "cuPointerGetAttribute", made.attribute) &&
                     find(library, "cuDevicePrimaryCtxRetain", made.retain) &&
                     find(library, "cuCtxPushCurrent_v2", made.push) &&
                     find(library, "cuCtxPopCurrent_v2", made.pop) &&
                     find(library, "cuStreamCreate", made.make_stream) &&
                     find(library, "cuStreamSynchronize", made.wait) &&
                     find(library, "cuMemcpyHtoDAsync_v2", made.to_gpu) &&
                     find(library, "cuMemcpyDtoHAsync_v2", made.from_gpu);
  if (made.fake || whole) g_known = found = new Driver(made);
  return found;
}

struct Lane {
  void* context = nullptr;
  void* stream = nullptr;
};
struct Range {
  std::size_t bytes = 0;
  Lane lane;
};
struct Ranges {
  std::mutex mutex;
  std::map<int, Lane> lanes;  // of each GPU, kept for good
  std::multimap<std::uint64_t, Range> all;
};
Ranges& ranges() {
  static auto* made = new Ranges;
  return *made;
}

// A lane of `device`, made once; the mutex is held.
bool lane_of(int device, Lane& lane) {
  const auto known = ranges().lanes.find(device);
  if (known != ranges().lanes.end()) return lane = known->second, true;
  const Driver& calls = *driver();
  if (calls.retain(&lane.context, device) != 0 || calls.push(lane.context) != 0) return false;
  const bool made = calls.make_stream(&lane.stream, kNonBlocking) == 0;
  void* popped = nullptr;
  calls.pop(&popped);
  if (made) ranges().lanes[device] = lane;
  return made;
}

bool find_lane(std::uint64_t address, Lane& lane) {
  const std::lock_guard lock(ranges().mutex);
  for (const auto& [begin, range] : ranges().all)
    if (address >= begin && address < begin + range.bytes) return lane = range.lane, true;
  return false;
}

template <class Copy>
bool copy_on_lane(std::uint64_t address, Copy copy) {
  Lane lane;
  if (!find_lane(address, lane)) return false;
  const Driver& calls = *driver();
  if (calls.push(lane.context) != 0) return false;
  const bool copied = copy(calls, lane.stream) && calls.wait(lane.stream) == 0;
  void* popped = nullptr;
  calls.pop(&popped);
  return copied;
}

}  // namespace

Place place_of(std::uint64_t address, std::size_t bytes) {
  const Driver* calls = driver();
  if (calls == nullptr) return Place::kHost;
  if (calls->fake) return calls->is_fake_gpu(address, bytes) != 0 ? Place::kFakeGpu : Place::kHost;
  unsigned type = 0;
  const bool told = calls->attribute(&type, kMemoryType, address) == 0;
  return told && type == kOnDevice ? Place::kGpu : Place::kHost;
}

bool add_gpu_range(std::uint64_t address, std::size_t bytes) {
  int device = 0;
  if (driver()->attribute(&device, kDeviceOrdinal, address) != 0) return false;
  const std::lock_guard lock(ranges().mutex);
  Range range{.bytes = bytes, .lane = {}};
  if (!lane_of(device, range.lane)) return false;
  ranges().all.emplace(address, range);
  return true;
}

void remove_gpu_range(std::uint64_t address) {
  const std::lock_guard lock(ranges().mutex);
  if (const auto found = ranges().all.find(address); found != ranges().all.end())
    ranges().all.erase(found);
}

bool is_in_gpu_range(std::uint64_t address) {
  Lane lane;
  return find_lane(address, lane);
}

bool copy_to_gpu(std::uint64_t address, const void* bytes, std::size_t count) {
  const std::size_t tail = std::min<std::size_t>(count, sizeof(std::uint32_t));
  const std::size_t body = count - tail;
  const auto* from = static_cast<const char*>(bytes);
  return copy_on_lane(address, [&](const Driver& calls, void* stream) {
    if (body > 0 && (calls.to_gpu(address, from, body, stream) != 0 || calls.wait(stream) != 0))
      return false;
    return calls.to_gpu(address + body, from + body, tail, stream) == 0;
  });
}

bool copy_from_gpu(std::uint64_t address, void* bytes, std::size_t count) {
  return copy_on_lane(address, [&](const Driver& calls, void* stream) {
    return calls.from_gpu(bytes, address, count, stream) == 0;
  });
}

bool holds_write(std::uint64_t address, const void* bytes, std::size_t count) {
  const Driver* calls = g_known;
  return calls != nullptr && calls->fake && calls->fake_hold(address, bytes, count) != 0;
}

void push_held_writes(std::uint64_t address, std::size_t count) {
  const Driver* calls = g_known;
  if (calls != nullptr && calls->fake && calls->is_fake_gpu(address, count) != 0)
    calls->fake_settle();
}

bool exported_range(int fd, std::uint64_t wanted, Exported& exported) {
  const Driver* calls = driver();
  if (calls == nullptr || fcntl(fd, F_GETFD) < 0) return false;
  exported = {.begin = wanted, .flags = 0};
  if (!calls->fake) return true;
  DevicePtr from = 0;
  if (calls->fake_export(fd, &from, &exported.flags) == 0) return false;
  exported.begin = from;
  return true;
}

}  // namespace railgauge::fake
