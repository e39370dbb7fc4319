// The fake driver's structures behind the handles.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "kernels/dl/cuda.h"
#include "kernels/fakes/cuda/fake_cuda.h"

namespace railgauge::fake {

// Longer than any wait of a test: a longer operation would hang on hardware, and ends the process
// with one line.
inline constexpr double kHangSeconds = 60;

// Runs work in order on its own thread.
class Queue {
 public:
  static std::shared_ptr<Queue> start();

  void push(std::function<void()> work);
  [[nodiscard]] bool idle();
  // Waits until idle; false when it is not idle after `seconds`.
  bool wait_idle(double seconds);
  // Ends the thread after the pushed work.
  void close();
  // Keeps work pushed from now on for a graph, without running it.
  void begin_capture();
  // Returns the kept work; absent when no capture was begun.
  std::optional<std::vector<std::function<void()>>> end_capture();
  // Returns the present time, at least half a microsecond after the last stamp, the step of real
  // events; or the time of advance(), when the control sets the duration of copies.
  std::int64_t stamp_ns();
  // Called on the queue's own thread.
  void advance(std::int64_t ns);
  // Makes the next stamp `ns`: a gate opens for all queues at one time, however late a thread
  // wakes.
  void opened_at(std::int64_t ns) { opened_ns_ = ns; }
  void begin_at(std::int64_t ns) { told_ns_ = std::max(told_ns_, ns); }

 private:
  void work_off();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  bool working_ = false;
  bool closed_ = false;
  std::int64_t last_stamp_ns_ = 0;
  std::int64_t told_ns_ = 0;
  std::optional<std::int64_t> opened_ns_;
  std::optional<std::vector<std::function<void()>>> captured_;
};

// Returns the time at which the first of the queues in this wait saw it end.
std::int64_t opened_ns(std::uint64_t wait);
// Returns the furthest time of any queue by advance(): streams held now begin there.
std::int64_t latest_told_ns();

struct Stamp {
  std::atomic<std::uint64_t> recorded{0};  // number of requested records
  std::atomic<std::uint64_t> done{0};      // the last one reached
  std::atomic<std::int64_t> time_ns{0};
  bool timing = true;
};

enum class MemoryKind : std::uint8_t { kDevice, kManaged, kPinned, kRegistered };

struct Memory {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
  MemoryKind kind = MemoryKind::kDevice;
  int device = 0;
  void* mapped = nullptr;  // what to unmap
  std::size_t mapped_bytes = 0;
  int fd = -1;  // of the part that was exported last
  std::uintptr_t exported = 0;
  std::size_t exported_bytes = 0;
};
// Returns the memory with [address, address + bytes); absent when there is none.
std::optional<Memory> memory_at(std::uintptr_t address, std::size_t bytes);
// Reports whether the bytes are memory of a GPU, or managed.
bool is_on_gpu(std::uintptr_t address, std::size_t bytes);
// Reports whether a copy may touch these bytes: inside one known memory, or beginning in none
// (plain host memory, which cannot be checked).
bool may_touch(std::uintptr_t address, std::size_t bytes);
// Adds memory that another part of the driver made, and drops it again.
void add_memory(const Memory& memory);
void drop_memory(std::uintptr_t begin);
// Returns the bytes of GPU memory in use.
std::size_t used_bytes(int device);

// Counts the call; returns the error when this call must fail, else kSuccess.
cu::Return enter(const char* name);
// Returns what a query or a release says: an error once the GPU is gone.
cu::Return answer();
// Does the same for a call that needs a current context.
cu::Return enter_context(const char* name);
// Returns the current context's GPU, or -1.
int current_device();
// Returns the queue of a stream; for nullptr the current GPU's default stream.
std::shared_ptr<Queue> queue_of(cu::Stream stream);
// Waits until all streams are idle; ends the process after kHangSeconds.
void wait_for_all_queues();
// Counts a measurable copy and returns whether it must move its bytes. If not, only its duration is
// queued on the stream.
bool begin_copy(cu::Stream stream);
// Queues the control's slow_h2d_us, h2d_ns or d2h_ns, if the copy has such a delay.
void delay_copy(Queue& queue, std::uintptr_t to, std::uintptr_t from);
// Copies for a measurement; with the control's flip_byte, one byte is wrong.
void copy_bytes(std::uintptr_t to, std::uintptr_t from, std::size_t bytes);

// Physical memory: a file for each handle (cuda_shared.cc). The descriptor stays the handle's, and
// is -1 for an unknown handle.
cu::MemHandle keep_file(int fd);
int file_of(cu::MemHandle handle);
int make_file(std::size_t bytes);
inline constexpr std::size_t kPhysicalUnit = 2U << 20U;

// Multicast objects (cuda_multicast.cc) are known by their file. Notes a new and an ended handle of
// a file, a mapping and its end; a file of other memory is left alone.
void note_team_handle(int fd);
void note_team_release(int fd);
void note_team_mapping(int fd, cu::DevicePtr address, std::size_t bytes, std::size_t offset);
void note_team_unmapping(cu::DevicePtr address);
// Copies to all members; false where `to` is no multicast address.
bool store_to_team(std::uintptr_t to, std::uintptr_t from, std::size_t bytes);

// Place remote writes that the GPU does not see yet (cuda_held_writes.cc): all of them, or the
// overdue ones.
void settle_writes();
void settle_overdue_writes();

// A launch of a device function's twin, which takes its arguments then and returns the work.
struct Launch {
  std::uint64_t blocks = 1;
  std::uint64_t threads = 1;
  void** arguments = nullptr;
  // Returns argument number `index` of the launch.
  template <class T>
  [[nodiscard]] T argument(std::size_t index) const {
    return *static_cast<T*>(arguments[index]);
  }
};
using Twin = std::function<void()> (*)(const Launch&);
// Returns the twin; nullptr when there is none of this name.
cu::Function twin_named(const char* name);
cu::Function nccl_twin_named(std::string_view name);  // twins of kernels/nccl
cu::Function gin_twin_named(std::string_view name);   // twins of kernels/nccl/gin

}  // namespace railgauge::fake

namespace railgauge::cu {
struct ContextObject {
  int device = 0;
};
struct StreamObject {
  std::shared_ptr<fake::Queue> queue;
  std::uint64_t number = 0;  // as CudaControl::copy_streams() has it
};
struct EventObject {
  std::shared_ptr<fake::Stamp> stamp;
};
struct ModuleObject {};
struct FunctionObject {
  const char* name;
  fake::Twin twin;
};
struct GraphObject {
  std::vector<std::function<void()>> works;
};
struct GraphExecObject {
  std::vector<std::function<void()>> works;
};
struct ExternalMemoryObject {
  void* memory = nullptr;
  std::size_t bytes = 0;
};
}  // namespace railgauge::cu

// The library exports exactly the functions that the table declares.
namespace cu = railgauge::cu;
extern "C" {
#define RAILGAUGE_DECLARE(slot, symbol, parameters) cu::Return symbol parameters;
RAILGAUGE_CUDA_REQUIRED(RAILGAUGE_DECLARE)
RAILGAUGE_CUDA_OPTIONAL(RAILGAUGE_DECLARE)
#undef RAILGAUGE_DECLARE
}
