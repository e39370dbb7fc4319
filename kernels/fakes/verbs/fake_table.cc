#include "kernels/fakes/verbs/fake_table.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <string>

#include "kernels/fakes/verbs/fake_gpu_wire.h"

namespace railgauge::fake {
namespace {

std::string table_name(pid_t pid) { return "railgauge-fake-verbs-" + std::to_string(pid); }

Table* map_table(int fd) {
  void* memory = mmap(nullptr, sizeof(Table), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<Table*>(memory);
}

Table* create_table() {
  const int fd = memfd_create(table_name(getpid()).c_str(), MFD_CLOEXEC);
  if (fd < 0) return nullptr;
  Table* table = ftruncate(fd, sizeof(Table)) == 0 ? map_table(fd) : nullptr;
  if (table == nullptr) {
    close(fd);
    return nullptr;
  }
  // With the Yama module's restriction, peers could not write into this process otherwise.
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
  return table;  // the descriptor stays open: peers find the table by it
}

// As an adapter's access to memory, which a thread sanitizer cannot see either; what it may order
// is the kernels' own affair. A memcpy would be seen.
#if defined(RAILGAUGE_THREAD_SANITIZER)
__attribute__((no_sanitize("thread"))) void move_bytes(std::uint8_t* to, const std::uint8_t* from,
                                                       std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    *const_cast<volatile std::uint8_t*>(to + i) =
        *const_cast<const volatile std::uint8_t*>(from + i);
}
__attribute__((no_sanitize("thread"))) void write_bytes(std::uint8_t* to, const std::uint8_t* from,
                                                        std::size_t count) {
  move_bytes(to, from, count);
}
#else
void move_bytes(std::uint8_t* to, const std::uint8_t* from, std::size_t count) {
  std::memcpy(to, from, count);
}
// The last byte comes last.
void write_bytes(std::uint8_t* to, const std::uint8_t* from, std::size_t count) {
  std::memcpy(to, from, count - 1);
  __atomic_store_n(to + count - 1, from[count - 1], __ATOMIC_RELEASE);
}
#endif

}  // namespace

Table* own_table() {
  static std::mutex mutex;
  static Table* table = nullptr;
  static pid_t owner = 0;
  const std::lock_guard lock(mutex);
  if (owner != getpid()) {
    table = create_table();
    if (table != nullptr) owner = getpid();
  }
  return table;
}

std::shared_ptr<Table> table_of(pid_t pid) {
  if (pid == getpid()) return {own_table(), [](Table*) {}};
  const std::string wanted = "/memfd:" + table_name(pid) + " (deleted)";
  std::error_code error;
  const std::filesystem::directory_iterator fds("/proc/" + std::to_string(pid) + "/fd", error);
  if (error) return nullptr;
  for (const auto& entry : fds) {
    if (std::filesystem::read_symlink(entry.path(), error) != wanted) continue;
    const int fd = open(entry.path().c_str(), O_RDWR | O_CLOEXEC);
    if (fd < 0) return nullptr;
    Table* table = map_table(fd);
    close(fd);
    if (table == nullptr) return nullptr;
    return {table, [](Table* mapped) { munmap(mapped, sizeof(Table)); }};
  }
  return nullptr;
}

Copied copy_to(pid_t pid, std::uint64_t remote_address, const void* bytes, std::size_t count) {
  if (count == 0) return Copied::kDone;
  const auto* from = static_cast<const std::uint8_t*>(bytes);
  if (pid == getpid() && is_in_gpu_range(remote_address))
    return copy_to_gpu(remote_address, bytes, count) ? Copied::kDone : Copied::kFault;
  if (pid == getpid() && holds_write(remote_address, bytes, count)) return Copied::kDone;
  if (pid == getpid()) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the wire carries addresses as numbers
    auto* to = reinterpret_cast<std::uint8_t*>(remote_address);
    write_bytes(to, from, count);
    return Copied::kDone;
  }
  auto* mine = const_cast<std::uint8_t*>(from);
  const std::array<iovec, 2> local{{{mine, count - 1}, {mine + count - 1, 1}}};
  // NOLINTBEGIN(performance-no-int-to-ptr)
  const std::array<iovec, 2> remote{{{reinterpret_cast<void*>(remote_address), count - 1},
                                     {reinterpret_cast<void*>(remote_address + count - 1), 1}}};
  // NOLINTEND(performance-no-int-to-ptr)
  const ssize_t written = process_vm_writev(pid, local.data(), 2, remote.data(), 2, 0);
  if (written == static_cast<ssize_t>(count)) return Copied::kDone;
  return written < 0 && errno == ESRCH ? Copied::kPeerGone : Copied::kFault;
}

Copied copy_from(pid_t pid, std::uint64_t remote_address, void* bytes, std::size_t count) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  auto* from = reinterpret_cast<void*>(remote_address);
  if (count == 0) return Copied::kDone;
  if (pid == getpid() && is_in_gpu_range(remote_address))
    return copy_from_gpu(remote_address, bytes, count) ? Copied::kDone : Copied::kFault;
  if (pid == getpid()) {
    push_held_writes(remote_address, count);
    move_bytes(static_cast<std::uint8_t*>(bytes), static_cast<const std::uint8_t*>(from), count);
    return Copied::kDone;
  }
  const iovec local{bytes, count};
  const iovec remote{from, count};
  const ssize_t read = process_vm_readv(pid, &local, 1, &remote, 1, 0);
  if (read == static_cast<ssize_t>(count)) return Copied::kDone;
  return read < 0 && errno == ESRCH ? Copied::kPeerGone : Copied::kFault;
}

}  // namespace railgauge::fake
