// The fake driver's memory. A memfd replaces exported memory, so that the descriptor's first byte
// is the first one exported.
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "kernels/fakes/cuda/cuda_objects.h"

namespace railgauge::fake {
namespace {

constexpr std::size_t kGpuPage = 64U << 10U;
// The alignment that cuMemAlloc promises and no more: an allocation begins this much before a GPU
// page.
constexpr std::size_t kAlignment = 256;
constexpr std::size_t kHostPage = 4096;

// NOLINTBEGIN(performance-no-int-to-ptr): addresses are numbers in this interface
void* pointer(std::uintptr_t address) { return reinterpret_cast<void*>(address); }
// NOLINTEND(performance-no-int-to-ptr)
std::uintptr_t number(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory); }
std::size_t round_up(std::size_t value, std::size_t to) { return (value + to - 1) / to * to; }

struct MemoryMap {
  std::mutex mutex;
  std::map<std::uintptr_t, Memory> by_begin;
};
MemoryMap& memories() {
  static auto* made = new MemoryMap;
  return *made;
}

std::optional<Memory> containing(std::uintptr_t address) {
  auto after = memories().by_begin.upper_bound(address);
  if (after == memories().by_begin.begin()) return std::nullopt;
  const Memory& memory = std::prev(after)->second;
  if (address >= memory.begin + memory.bytes) return std::nullopt;
  return memory;
}

std::atomic<std::int64_t>& counter_of(MemoryKind kind) {
  const bool host = kind == MemoryKind::kPinned || kind == MemoryKind::kRegistered;
  return host ? cuda_control().pinned : cuda_control().allocations;
}

void add(const Memory& memory) {
  const std::lock_guard lock(memories().mutex);
  memories().by_begin[memory.begin] = memory;
  ++counter_of(memory.kind);
}

std::optional<Memory> take(std::uintptr_t begin, MemoryKind kind, MemoryKind or_kind) {
  wait_for_all_queues();  // as the real release does: what was queued may still use it
  settle_writes();
  const std::lock_guard lock(memories().mutex);
  const auto found = memories().by_begin.find(begin);
  if (found == memories().by_begin.end()) return std::nullopt;
  const Memory memory = found->second;
  if (memory.kind != kind && memory.kind != or_kind) return std::nullopt;
  memories().by_begin.erase(found);
  --counter_of(memory.kind);
  return memory;
}

std::optional<Memory> map_device_memory(std::size_t bytes) {
  Memory memory;
  memory.mapped_bytes = round_up(bytes, kGpuPage) + 3 * kGpuPage;
  memory.mapped = mmap(nullptr, memory.mapped_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory.mapped == MAP_FAILED) return std::nullopt;
  memory.begin = round_up(number(memory.mapped) + kGpuPage, kGpuPage) - kAlignment;
  memory.bytes = bytes;
  memory.device = current_device();
  return memory;
}

// Exports [address, address + bytes), whole pages of the host with GPU memory, and returns a
// descriptor: a file replaces these pages and keeps their content. -1 on failure.
int export_pages(std::uintptr_t address, std::size_t bytes) {
  const std::lock_guard lock(memories().mutex);
  auto found = memories().by_begin.upper_bound(address + bytes - 1);
  if (found == memories().by_begin.begin()) return -1;
  Memory& memory = std::prev(found)->second;
  const bool inside = address + kHostPage > memory.begin &&
                      address + bytes < memory.begin + memory.bytes + kHostPage;
  if (!inside || memory.kind != MemoryKind::kDevice || memory.mapped == nullptr) return -1;
  if (memory.fd >= 0 && memory.exported == address && memory.exported_bytes == bytes)
    return fcntl(memory.fd, F_DUPFD_CLOEXEC, 0);
  const int fd = memfd_create("railgauge-fake-cuda", MFD_CLOEXEC);
  if (fd < 0) return -1;
  if (pwrite(fd, pointer(address), bytes, 0) != static_cast<ssize_t>(bytes) ||
      mmap(pointer(address), bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) ==
          MAP_FAILED) {
    close(fd);
    return -1;
  }
  if (memory.fd >= 0) close(memory.fd);
  memory.fd = fd;
  memory.exported = address;
  memory.exported_bytes = bytes;
  return fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

std::size_t free_bytes(int device) {
  const std::size_t total = cuda_control().total_bytes;
  const std::size_t used = used_bytes(device);
  std::size_t free = total > used ? total - used : 0;
  if (cuda_control().free_bytes != 0) free = std::min<std::size_t>(free, cuda_control().free_bytes);
  return free;
}

// The ranges of the last exports, by their numbers.
struct Exports {
  std::mutex mutex;
  struct Export {
    std::uintptr_t begin = 0;
    unsigned long long flags = 0;
  };
  std::map<int, Export> by_descriptor;
};
Exports& exports() {
  static auto* made = new Exports;
  return *made;
}

cu::Return allocate(cu::DevicePtr* out, std::size_t bytes, MemoryKind kind) {
  if (bytes == 0) return cu::kInvalidValue;
  if (bytes > free_bytes(current_device())) return cu::kOutOfMemory;
  auto memory = map_device_memory(bytes);
  if (!memory) return cu::kOutOfMemory;
  memory->kind = kind;
  add(*memory);
  *out = memory->begin;
  return cu::kSuccess;
}

}  // namespace

std::optional<Memory> memory_at(std::uintptr_t address, std::size_t bytes) {
  const std::lock_guard lock(memories().mutex);
  auto memory = containing(address);
  if (!memory || address + bytes > memory->begin + memory->bytes) return std::nullopt;
  return memory;
}

void add_memory(const Memory& memory) { add(memory); }
void drop_memory(std::uintptr_t begin) {
  static_cast<void>(take(begin, MemoryKind::kDevice, MemoryKind::kDevice));
}

bool is_on_gpu(std::uintptr_t address, std::size_t bytes) {
  const auto memory = memory_at(address, bytes);
  return memory && (memory->kind == MemoryKind::kDevice || memory->kind == MemoryKind::kManaged);
}

bool may_touch(std::uintptr_t address, std::size_t bytes) {
  const std::lock_guard lock(memories().mutex);
  const auto memory = containing(address);
  return !memory || address + bytes <= memory->begin + memory->bytes;
}

std::size_t used_bytes(int device) {
  const std::lock_guard lock(memories().mutex);
  std::size_t used = 0;
  for (const auto& [begin, memory] : memories().by_begin)
    if (memory.kind == MemoryKind::kDevice && memory.device == device) used += memory.bytes;
  return used;
}

}  // namespace railgauge::fake

using railgauge::fake::cuda_control;
using railgauge::fake::enter_context;
using railgauge::fake::may_touch;
using railgauge::fake::Memory;
using railgauge::fake::memory_at;
using railgauge::fake::MemoryKind;
namespace fake = railgauge::fake;

#define RAILGAUGE_ENTER \
  if (const cu::Return failed = enter_context(__func__); failed != cu::kSuccess) return failed

// NOLINTBEGIN(readability-identifier-naming): the vendor's names
extern "C" {

cu::Return cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  RAILGAUGE_ENTER;
  *free = fake::free_bytes(fake::current_device());
  *total = cuda_control().total_bytes;
  return cu::kSuccess;
}

cu::Return cuMemAlloc_v2(cu::DevicePtr* out, std::size_t bytes) {
  RAILGAUGE_ENTER;
  return fake::allocate(out, bytes, MemoryKind::kDevice);
}

cu::Return cuMemAllocManaged(cu::DevicePtr* out, std::size_t bytes, unsigned int) {
  RAILGAUGE_ENTER;
  return fake::allocate(out, bytes, MemoryKind::kManaged);
}

cu::Return cuMemFree_v2(cu::DevicePtr address) {
  const auto memory = fake::take(address, MemoryKind::kDevice, MemoryKind::kManaged);
  if (!memory) return cu::kInvalidValue;
  if (memory->mapped != nullptr) munmap(memory->mapped, memory->mapped_bytes);
  if (memory->fd >= 0) close(memory->fd);
  return fake::answer();
}

cu::Return cuMemGetAddressRange_v2(cu::DevicePtr* begin, std::size_t* bytes, cu::DevicePtr within) {
  RAILGAUGE_ENTER;
  const auto memory = memory_at(within, 1);
  if (!memory) return cu::kNotFound;
  *begin = memory->begin;
  *bytes = memory->bytes;
  return cu::kSuccess;
}

cu::Return cuMemHostAlloc(void** out, std::size_t bytes, unsigned int) {
  RAILGAUGE_ENTER;
  if (bytes == 0) return cu::kInvalidValue;
  void* memory = std::aligned_alloc(fake::kHostPage, fake::round_up(bytes, fake::kHostPage));
  if (memory == nullptr) return cu::kOutOfMemory;
  fake::add({.begin = fake::number(memory), .bytes = bytes, .kind = MemoryKind::kPinned});
  *out = memory;
  return cu::kSuccess;
}

cu::Return cuMemFreeHost(void* memory) {
  if (!fake::take(fake::number(memory), MemoryKind::kPinned, MemoryKind::kPinned))
    return cu::kInvalidValue;
  std::free(memory);
  return fake::answer();
}

cu::Return cuMemHostRegister_v2(void* memory, std::size_t bytes, unsigned int) {
  RAILGAUGE_ENTER;
  if (bytes == 0 || memory_at(fake::number(memory), 1)) return cu::kInvalidValue;
  fake::add({.begin = fake::number(memory), .bytes = bytes, .kind = MemoryKind::kRegistered});
  return cu::kSuccess;
}

cu::Return cuMemHostUnregister(void* memory) {
  const bool known =
      fake::take(fake::number(memory), MemoryKind::kRegistered, MemoryKind::kRegistered)
          .has_value();
  return known ? fake::answer() : cu::kInvalidValue;
}

cu::Return cuMemHostGetDevicePointer_v2(cu::DevicePtr* out, void* memory, unsigned int) {
  RAILGAUGE_ENTER;
  if (!memory_at(fake::number(memory), 1)) return cu::kInvalidValue;
  *out = fake::number(memory);
  return cu::kSuccess;
}

cu::Return cuPointerGetAttribute(void* out, int which, cu::DevicePtr address) {
  RAILGAUGE_ENTER;
  const auto memory = memory_at(address, 1);
  if (!memory) return cu::kInvalidValue;
  const bool on_gpu = memory->kind == MemoryKind::kDevice || memory->kind == MemoryKind::kManaged;
  switch (which) {
    case cu::kPointerMemoryType:
      *static_cast<unsigned*>(out) = on_gpu ? cu::kMemoryTypeDevice : cu::kMemoryTypeHost;
      return cu::kSuccess;
    case cu::kPointerIsManaged:
      *static_cast<bool*>(out) = memory->kind == MemoryKind::kManaged;
      return cu::kSuccess;
    default:
      return cu::kNotSupported;
  }
}

cu::Return cuPointerSetAttribute(const void*, int which, cu::DevicePtr address) {
  RAILGAUGE_ENTER;
  const auto memory = memory_at(address, 1);
  const bool on_gpu = memory && memory->kind == MemoryKind::kDevice;
  return on_gpu && which == cu::kPointerSyncMemops ? cu::kSuccess : cu::kInvalidValue;
}

cu::Return cuMemGetHandleForAddressRange(void* handle, cu::DevicePtr address, std::size_t bytes,
                                         int type, unsigned long long flags) {
  RAILGAUGE_ENTER;
  const bool mappable = cuda_control().dmabuf_mmap != 0;
  if (cuda_control().dmabuf == 0 || type != cu::kRangeHandleDmaBufFd) return cu::kNotSupported;
  if (flags != 0 && !mappable && cuda_control().pcie_mapping == 0) return cu::kNotSupported;
  if (address % fake::kHostPage != 0 || bytes % fake::kHostPage != 0) return cu::kInvalidValue;
  fake::wait_for_all_queues();
  int fd = fake::export_pages(address, bytes);
  if (fd < 0) return cu::kInvalidValue;
  if (!mappable) {  // a descriptor all the same
    close(fd);
    fd = eventfd(0, EFD_CLOEXEC);
  }
  *static_cast<int*>(handle) = fd;
  const std::lock_guard lock(fake::exports().mutex);
  fake::exports().by_descriptor[fd] = {address, flags};
  return cu::kSuccess;
}

cu::Return cuFlushGPUDirectRDMAWrites(int target, int scope) {
  RAILGAUGE_ENTER;
  if (target != cu::kFlushCurrentContext ||
      (scope != cu::kWritesOrderedForOwner && scope != cu::kWritesOrderedForAllDevices))
    return cu::kInvalidValue;
  if (cuda_control().no_flush != 0) return cu::kNotSupported;
  ++cuda_control().flushes;
  if (cuda_control().flush_does_nothing == 0) fake::settle_writes();
  return cu::kSuccess;
}

// For the fake libibverbs, which is another library: not counted, never failing.
int railgauge_fake_cuda_is_gpu_memory(cu::DevicePtr address, std::size_t bytes) {
  return fake::is_on_gpu(address, bytes) ? 1 : 0;
}

int railgauge_fake_cuda_exported(int fd, cu::DevicePtr* begin, unsigned long long* flags) {
  const std::lock_guard lock(fake::exports().mutex);
  const auto found = fake::exports().by_descriptor.find(fd);
  if (found == fake::exports().by_descriptor.end()) return 0;
  *begin = found->second.begin;
  *flags = found->second.flags;
  return 1;
}

cu::Return cuImportExternalMemory(cu::ExternalMemory* out,
                                  const cu::ExternalMemoryHandleDesc* desc) {
  RAILGAUGE_ENTER;
  if (desc->type != cu::kExternalMemoryOpaqueFd) return cu::kNotSupported;
  struct stat file {};
  if (fstat(desc->handle.fd, &file) != 0) return cu::kInvalidHandle;
  if (static_cast<unsigned long long>(file.st_size) < desc->size) return cu::kInvalidValue;
  const bool other = cuda_control().import_other != 0;
  void* memory =
      mmap(nullptr, desc->size, PROT_READ | PROT_WRITE,
           other ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED, other ? -1 : desc->handle.fd, 0);
  if (memory == MAP_FAILED) return cu::kInvalidValue;
  close(desc->handle.fd);  // the driver owns it now
  *out = new cu::ExternalMemoryObject{memory, desc->size};
  ++cuda_control().externals;
  return cu::kSuccess;
}

cu::Return cuExternalMemoryGetMappedBuffer(cu::DevicePtr* out, cu::ExternalMemory memory,
                                           const cu::ExternalMemoryBufferDesc* desc) {
  RAILGAUGE_ENTER;
  if (desc->flags != 0 || desc->offset + desc->size > memory->bytes) return cu::kInvalidValue;
  *out = fake::number(memory->memory) + desc->offset;
  fake::add({.begin = static_cast<std::uintptr_t>(*out),
             .bytes = desc->size,
             .kind = MemoryKind::kDevice,
             .device = fake::current_device()});
  return cu::kSuccess;
}

cu::Return cuDestroyExternalMemory(cu::ExternalMemory memory) {
  if (memory == nullptr) return cu::kInvalidHandle;
  fake::wait_for_all_queues();
  munmap(memory->memory, memory->bytes);
  delete memory;
  --cuda_control().externals;
  return fake::answer();
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
