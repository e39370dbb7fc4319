// The fake driver's own structures behind the handles.
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

// Longer than any wait of a test: what takes longer would hang on hardware, and ends the process
// with one line.
inline constexpr double kHangSeconds = 60;

// One thing after another, on a thread of its own.
class Queue {
 public:
  static std::shared_ptr<Queue> start();

  void push(std::function<void()> work);
  [[nodiscard]] bool idle();
  // False when it is not idle after `seconds`.
  bool wait_idle(double seconds);
  // Ends after what was pushed.
  void close();
  // Work that is pushed from now on is kept for a graph, and not done.
  void begin_capture();
  // The kept work; nothing where no capture was begun.
  std::optional<std::vector<std::function<void()>>> end_capture();
  // Now, and at least half a microsecond after the last one, as the real events' step; or the time
  // of advance(), where the control says how long copies take.
  std::int64_t stamp_ns();
  // By the queue's own thread.
  void advance(std::int64_t ns);
  // The next stamp is of then: a gate lets all go at one time, however late a thread wakes.
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

// When the first of the queues that waited for this saw it come.
std::int64_t opened_ns(std::uint64_t wait);
// The furthest that advance() has brought any queue: streams that are held now begin there.
std::int64_t latest_told_ns();

struct Stamp {
  std::atomic<std::uint64_t> recorded{0};  // records asked for
  std::atomic<std::uint64_t> done{0};      // the last one that was reached
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
// The memory that holds [address, address + bytes), or nothing.
std::optional<Memory> memory_at(std::uintptr_t address, std::size_t bytes);
// Whether they are memory of a GPU, or managed.
bool is_on_gpu(std::uintptr_t address, std::size_t bytes);
// Whether a copy may touch these bytes: they lie in one piece of known memory, or begin in none
// (plain host memory, which we cannot check).
bool may_touch(std::uintptr_t address, std::size_t bytes);
// Bytes of GPU memory in use.
std::size_t used_bytes(int device);

// Counts the call; the error when it is the one that shall fail, else kSuccess.
cu::Return enter(const char* name);
// The same for a call that needs a current context.
cu::Return enter_context(const char* name);
// The current context's GPU, or -1.
int current_device();
// The queue of a stream; the default stream of the current GPU for nullptr.
std::shared_ptr<Queue> queue_of(cu::Stream stream);
// Waits until all streams are idle; ends the process when that takes kHangSeconds.
void wait_for_all_queues();
// Counts a copy that could be measured; whether it shall move its bytes. One on a stream that shall
// not is queued here as the time that it takes.
bool begin_copy(cu::Stream stream);
// Queues the control's slow_h2d_us, h2d_ns or d2h_ns where the copy is one of those.
void delay_copy(Queue& queue, std::uintptr_t to, std::uintptr_t from);
// A copy that is measured: with the control's flip_byte, one of its bytes is wrong.
void copy_bytes(std::uintptr_t to, std::uintptr_t from, std::size_t bytes);

// Remote writes that the GPU does not see yet (cuda_held_writes.cc): all of them are placed, or
// those whose time has come.
void settle_writes();
void settle_overdue_writes();

// A device function's stand-in: takes its arguments at the launch, returns what to do.
struct Launch {
  std::uint64_t blocks = 1;
  std::uint64_t threads = 1;
  void** arguments = nullptr;
  // Argument number `index` as the launch has it.
  template <class T>
  [[nodiscard]] T argument(std::size_t index) const {
    return *static_cast<T*>(arguments[index]);
  }
};
using Twin = std::function<void()> (*)(const Launch&);
// nullptr when there is none of this name.
cu::Function twin_named(const char* name);
cu::Function nccl_twin_named(std::string_view name);  // those of kernels/nccl

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
