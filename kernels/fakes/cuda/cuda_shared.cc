// The fake driver's memory of cuMemCreate: a file in memory, of which each mapping is one more
// view. A POSIX handle is its descriptor; a fabric handle is a number that all ranks of this
// process know.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <mutex>

#include "kernels/fakes/cuda/cuda_objects.h"

namespace railgauge::fake {
namespace {

struct SharedFiles {
  std::mutex mutex;
  std::map<cu::MemHandle, int> by_handle;
  cu::MemHandle last = 0;
};
SharedFiles& shared_files() {
  static auto* made = new SharedFiles;
  return *made;
}

// NOLINTNEXTLINE(performance-no-int-to-ptr): addresses are numbers in this interface
void* view_at(cu::DevicePtr address) { return reinterpret_cast<void*>(address); }

}  // namespace

cu::MemHandle keep_file(int fd) {
  note_team_handle(fd);
  const std::lock_guard lock(shared_files().mutex);
  ++cuda_control().physical;
  shared_files().by_handle[++shared_files().last] = fd;
  return shared_files().last;
}

int file_of(cu::MemHandle handle) {
  const std::lock_guard lock(shared_files().mutex);
  const auto found = shared_files().by_handle.find(handle);
  return found == shared_files().by_handle.end() ? -1 : found->second;
}

// Physical memory of the fake: its bytes live as long as any descriptor or view of it.
int make_file(std::size_t bytes) {
  const int fd = memfd_create("railgauge-fake-physical", MFD_CLOEXEC);
  if (fd >= 0 && ftruncate(fd, static_cast<off_t>(bytes)) == 0) return fd;
  if (fd >= 0) close(fd);
  return -1;
}

}  // namespace railgauge::fake

using railgauge::fake::cuda_control;
using railgauge::fake::enter_context;
namespace fake = railgauge::fake;

#define RAILGAUGE_ENTER \
  if (const cu::Return failed = enter_context(__func__); failed != cu::kSuccess) return failed

// NOLINTBEGIN(readability-identifier-naming): the vendor's names
extern "C" {

cu::Return cuMemGetAllocationGranularity(std::size_t* bytes, const cu::MemAllocationProp*, int) {
  RAILGAUGE_ENTER;
  *bytes = fake::kPhysicalUnit;
  return cu::kSuccess;
}

cu::Return cuMemCreate(cu::MemHandle* handle, std::size_t bytes,
                       const cu::MemAllocationProp* wanted, unsigned long long) {
  RAILGAUGE_ENTER;
  const bool is_known = wanted->type == cu::kMemPinned &&
                        wanted->location.type == cu::kMemOnDevice && bytes > 0 &&
                        bytes % fake::kPhysicalUnit == 0;
  if (!is_known) return cu::kInvalidValue;
  if (wanted->handle_types == cu::kFabricHandle && cuda_control().fabric == 0)
    return cu::kNotPermitted;
  const int fd = fake::make_file(bytes);
  if (fd < 0) return cu::kOutOfMemory;
  *handle = fake::keep_file(fd);
  return cu::kSuccess;
}

cu::Return cuMemRelease(cu::MemHandle handle) {
  const int fd = fake::file_of(handle);
  if (fd < 0) return cu::kInvalidValue;
  fake::note_team_release(fd);
  close(fd);
  {
    const std::lock_guard lock(fake::shared_files().mutex);
    fake::shared_files().by_handle.erase(handle);
  }
  --cuda_control().physical;
  return fake::answer();
}

cu::Return cuMemAddressReserve(cu::DevicePtr* address, std::size_t bytes, std::size_t,
                               cu::DevicePtr, unsigned long long) {
  RAILGAUGE_ENTER;
  void* made = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (made == MAP_FAILED) return cu::kOutOfMemory;
  *address = reinterpret_cast<cu::DevicePtr>(made);
  ++cuda_control().physical;
  return cu::kSuccess;
}

cu::Return cuMemAddressFree(cu::DevicePtr address, std::size_t bytes) {
  if (munmap(fake::view_at(address), bytes) != 0) return cu::kInvalidValue;
  --cuda_control().physical;
  return fake::answer();
}

cu::Return cuMemMap(cu::DevicePtr address, std::size_t bytes, std::size_t offset,
                    cu::MemHandle handle, unsigned long long) {
  RAILGAUGE_ENTER;
  const int fd = fake::file_of(handle);
  struct stat file {};
  if (fd < 0 || fstat(fd, &file) != 0 || offset + bytes > static_cast<std::size_t>(file.st_size))
    return cu::kInvalidValue;
  if (mmap(fake::view_at(address), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, fd,
           static_cast<off_t>(offset)) == MAP_FAILED)
    return cu::kOutOfMemory;
  fake::note_team_mapping(fd, address, bytes, offset);
  return cu::kSuccess;
}

cu::Return cuMemUnmap(cu::DevicePtr address, std::size_t bytes) {
  fake::drop_memory(address);
  fake::note_team_unmapping(address);
  mmap(fake::view_at(address), bytes, PROT_NONE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  return fake::answer();
}

// Only with access is it memory that copies and kernels can touch.
cu::Return cuMemSetAccess(cu::DevicePtr address, std::size_t bytes, const cu::MemAccessDesc* access,
                          std::size_t count) {
  RAILGAUGE_ENTER;
  if (count != 1 || access->flags != cu::kMemReadWrite) return cu::kInvalidValue;
  if (mprotect(fake::view_at(address), bytes, PROT_READ | PROT_WRITE) != 0)
    return cu::kInvalidValue;
  fake::add_memory({.begin = static_cast<std::uintptr_t>(address),
                    .bytes = bytes,
                    .device = access->location.id});
  return cu::kSuccess;
}

cu::Return cuMemExportToShareableHandle(void* out, cu::MemHandle handle, int type,
                                        unsigned long long) {
  RAILGAUGE_ENTER;
  const int fd = fake::file_of(handle);
  if (fd < 0) return cu::kInvalidValue;
  if (type == cu::kFabricHandle) {
    std::memset(out, 0, cu::kFabricHandleBytes);
    std::memcpy(out, &handle, sizeof handle);
    return cu::kSuccess;
  }
  const int exported = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (exported < 0) return cu::kUnknown;
  *static_cast<int*>(out) = exported;
  return cu::kSuccess;
}

cu::Return cuMemImportFromShareableHandle(cu::MemHandle* handle, void* from, int type) {
  RAILGAUGE_ENTER;
  int fd = static_cast<int>(reinterpret_cast<std::uintptr_t>(from));
  if (type == cu::kFabricHandle) {
    cu::MemHandle exported = 0;
    std::memcpy(&exported, from, sizeof exported);
    fd = fake::file_of(exported);
  }
  struct stat file {};
  if (fd < 0 || fstat(fd, &file) != 0) return cu::kInvalidValue;
  const int own = cuda_control().import_other != 0
                      ? fake::make_file(static_cast<std::size_t>(file.st_size))
                      : fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (own < 0) return cu::kUnknown;
  *handle = fake::keep_file(own);
  return cu::kSuccess;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
