// The fake driver's multicast objects. An object is a file, by which the processes' handles of it
// are known; its own bytes are nobody's. A store to a mapping of it goes to the memory of each
// member, as through the switch. All ranks of a team are in one process.
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "kernels/fakes/cuda/cuda_objects.h"

namespace railgauge::fake {
namespace {

struct Member {
  int device = 0;
  unsigned char* view = nullptr;
  std::size_t bytes = 0;
};
struct Team {
  unsigned wanted = 0;
  int handles = 0;
  std::set<int> devices{};
  std::vector<Member> members{};
};
struct TeamMapping {
  ino_t team = 0;
  std::size_t bytes = 0;
  std::size_t offset = 0;
};
struct Teams {
  std::mutex mutex;
  std::map<ino_t, Team> by_file;
  std::map<cu::DevicePtr, TeamMapping> mappings;
};
Teams& teams() {
  static auto* made = new Teams;
  return *made;
}

// 0 for no file.
ino_t file_number(int fd) {
  struct stat file {};
  return fd >= 0 && fstat(fd, &file) == 0 ? file.st_ino : 0;
}

// The caller has the lock. nullptr: not a multicast object.
Team* team_of(int fd) {
  const auto found = teams().by_file.find(file_number(fd));
  return found == teams().by_file.end() ? nullptr : &found->second;
}

}  // namespace

void note_team_handle(int fd) {
  const std::lock_guard lock(teams().mutex);
  if (Team* team = team_of(fd)) ++team->handles;
}

void note_team_release(int fd) {
  const std::lock_guard lock(teams().mutex);
  if (Team* team = team_of(fd); team != nullptr && --team->handles == 0)
    teams().by_file.erase(file_number(fd));
}

void note_team_mapping(int fd, cu::DevicePtr address, std::size_t bytes, std::size_t offset) {
  const std::lock_guard lock(teams().mutex);
  if (team_of(fd) != nullptr)
    teams().mappings[address] = {.team = file_number(fd), .bytes = bytes, .offset = offset};
}

void note_team_unmapping(cu::DevicePtr address) {
  const std::lock_guard lock(teams().mutex);
  teams().mappings.erase(address);
}

bool store_to_team(std::uintptr_t to, std::uintptr_t from, std::size_t bytes) {
  const std::lock_guard lock(teams().mutex);
  auto after = teams().mappings.upper_bound(to);
  if (after == teams().mappings.begin()) return false;
  const auto& [begin, mapping] = *--after;
  if (to + bytes > begin + mapping.bytes) return false;
  const std::size_t at = to - begin + mapping.offset;
  const CudaControl& control = cuda_control();
  for (const Member& member : teams().by_file[mapping.team].members) {
    const auto number = static_cast<std::uint64_t>(member.device) + 1;
    if (number == control.multicast_skips || at >= member.bytes) continue;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): addresses are numbers in this interface
    std::memcpy(member.view + at, reinterpret_cast<const void*>(from),
                std::min(bytes, member.bytes - at));
    if (number == control.multicast_flips) member.view[at + bytes / 2] ^= 1U;
  }
  return true;
}

}  // namespace railgauge::fake

using railgauge::fake::cuda_control;
using railgauge::fake::enter_context;
namespace fake = railgauge::fake;

#define RAILGAUGE_ENTER \
  if (const cu::Return failed = enter_context(__func__); failed != cu::kSuccess) return failed

// NOLINTBEGIN(readability-identifier-naming): the vendor's names
extern "C" {

cu::Return cuMulticastGetGranularity(std::size_t* bytes, const cu::MulticastObjectProp* wanted,
                                     int) {
  RAILGAUGE_ENTER;
  if (wanted->devices == 0) return cu::kInvalidValue;
  *bytes = fake::kPhysicalUnit;
  return cu::kSuccess;
}

cu::Return cuMulticastCreate(cu::MemHandle* handle, const cu::MulticastObjectProp* wanted) {
  RAILGAUGE_ENTER;
  if (cuda_control().multicast == 0) return cu::kNotSupported;
  if (wanted->devices < 2 || wanted->size == 0 || wanted->size % fake::kPhysicalUnit != 0)
    return cu::kInvalidValue;
  if (wanted->handle_types == cu::kFabricHandle && cuda_control().fabric == 0)
    return cu::kNotPermitted;
  const int fd = fake::make_file(wanted->size);
  if (fd < 0) return cu::kOutOfMemory;
  {
    const std::lock_guard lock(fake::teams().mutex);
    fake::teams().by_file[fake::file_number(fd)] = {.wanted = wanted->devices};
  }
  *handle = fake::keep_file(fd);
  return cu::kSuccess;
}

cu::Return cuMulticastAddDevice(cu::MemHandle handle, cu::Device device) {
  RAILGAUGE_ENTER;
  const int fd = fake::file_of(handle);
  const std::lock_guard lock(fake::teams().mutex);
  fake::Team* team = fake::team_of(fd);
  if (team == nullptr || team->devices.size() == team->wanted ||
      !team->devices.insert(device).second)
    return cu::kInvalidValue;
  return cu::kSuccess;
}

// Only when the team is complete.
cu::Return cuMulticastBindMem(cu::MemHandle handle, std::size_t offset, cu::MemHandle memory,
                              std::size_t memory_offset, std::size_t bytes, unsigned long long) {
  RAILGAUGE_ENTER;
  const int fd = fake::file_of(handle);
  const int memory_fd = fake::file_of(memory);
  struct stat file {};
  const std::lock_guard lock(fake::teams().mutex);
  fake::Team* team = fake::team_of(fd);
  if (team == nullptr || team->devices.size() != team->wanted || offset != 0 ||
      memory_offset != 0 || memory_fd < 0 || fstat(memory_fd, &file) != 0 ||
      bytes > static_cast<std::size_t>(file.st_size))
    return cu::kInvalidValue;
  void* view = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory_fd, 0);
  if (view == MAP_FAILED) return cu::kOutOfMemory;
  team->members.push_back({.device = fake::current_device(),
                           .view = static_cast<unsigned char*>(view),
                           .bytes = bytes});
  ++cuda_control().physical;
  return cu::kSuccess;
}

cu::Return cuMulticastUnbind(cu::MemHandle handle, cu::Device device, std::size_t,
                             std::size_t bytes) {
  const int fd = fake::file_of(handle);
  const std::lock_guard lock(fake::teams().mutex);
  fake::Team* team = fake::team_of(fd);
  if (team == nullptr) return cu::kInvalidValue;
  const auto bound = std::ranges::find(team->members, device, &fake::Member::device);
  if (bound == team->members.end()) return cu::kInvalidValue;
  munmap(bound->view, bytes);
  team->members.erase(bound);
  --cuda_control().physical;
  return fake::answer();
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
