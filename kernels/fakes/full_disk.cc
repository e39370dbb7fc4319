#include "kernels/fakes/full_disk.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>

#include "kernels/core/base/result.h"

namespace railgauge::fake {
namespace {

std::atomic<std::int64_t> room_bytes = 0;
std::atomic<std::int64_t> refused = 0;

// Returns the bytes that fit; a write within the file needs no room.
std::size_t fitting(int fd, std::size_t size, off_t at) {
  struct stat file {};
  if (::fstat(fd, &file) != 0) return size;
  const std::int64_t end = at + static_cast<std::int64_t>(size);
  const std::int64_t grown = std::max<std::int64_t>(0, end - file.st_size);
  std::int64_t left = room_bytes.load();
  while (!room_bytes.compare_exchange_weak(left, left - std::min(left, grown))) {
  }
  if (grown <= left) return size;
  ++refused;
  return size - static_cast<std::size_t>(
                    std::min<std::int64_t>(grown - left, static_cast<std::int64_t>(size)));
}

ssize_t no_space() {
  errno = ENOSPC;
  return -1;
}

ssize_t pwrite_on_full_disk(int fd, const void* bytes, std::size_t size, off_t at) {
  const std::size_t fits = fitting(fd, size, at);
  return fits == 0 && size > 0 ? no_space() : ::pwrite(fd, bytes, fits, at);
}

ssize_t write_on_full_disk(int fd, const void* bytes, std::size_t size) {
  const std::size_t fits = fitting(fd, size, ::lseek(fd, 0, SEEK_CUR));
  return fits == 0 && size > 0 ? no_space() : ::write(fd, bytes, fits);
}

int fallocate_on_full_disk(int fd, off_t at, off_t size) {
  if (fitting(fd, static_cast<std::size_t>(size), at) < static_cast<std::size_t>(size))
    return ENOSPC;
  return ::posix_fallocate(fd, at, size);
}

// A null pointer restores the original call.
void put(const char* name, sqlite3_syscall_ptr call) {
  sqlite3_vfs* const vfs = sqlite3_vfs_find(nullptr);
  static_cast<void>(vfs->xSetSystemCall(vfs, name, call));
}

template <class Function>
sqlite3_syscall_ptr as_call(Function* function) {
  return reinterpret_cast<sqlite3_syscall_ptr>(function);
}

}  // namespace

FullDisk::FullDisk(std::int64_t bytes) {
  RG_CHECK(sqlite3_initialize() == SQLITE_OK);
  room_bytes = bytes;
  refused = 0;
  put("write", as_call(write_on_full_disk));
  put("pwrite", as_call(pwrite_on_full_disk));
  put("pwrite64", as_call(pwrite_on_full_disk));
  put("fallocate", as_call(fallocate_on_full_disk));
}

FullDisk::~FullDisk() {
  for (const char* name : std::array{"write", "pwrite", "pwrite64", "fallocate"})
    put(name, nullptr);
}

void FullDisk::add_room(std::int64_t bytes) { room_bytes += bytes; }

std::int64_t FullDisk::refusals() const { return refused; }

}  // namespace railgauge::fake
