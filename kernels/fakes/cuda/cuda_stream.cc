// The fake driver's streams and events.
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/fakes/cuda/cuda_objects.h"

namespace railgauge::fake {
namespace {

constexpr std::int64_t kStampStepNs = 500;
constexpr long kNapNs = 20'000;

std::int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

[[noreturn]] void hang(const char* what) {
  std::fprintf(stderr, "libcuda-fake: %s for %.0f s: this would hang on hardware\n", what,
               kHangSeconds);
  std::abort();
}

// Naps until `done`; a GPU would wait for ever.
template <class Done>
void wait_until(Done done, const char* what) {
  const std::int64_t begin_ns = now_ns();
  while (!done()) {
    if (static_cast<double>(now_ns() - begin_ns) > kHangSeconds * 1e9) hang(what);
    const timespec nap{.tv_sec = 0, .tv_nsec = kNapNs};
    nanosleep(&nap, nullptr);
  }
}

struct Queues {
  std::mutex mutex;
  std::vector<std::weak_ptr<Queue>> all;
  std::map<int, std::shared_ptr<Queue>> defaults;  // of each GPU
};
Queues& queues() {
  static auto* made = new Queues;
  return *made;
}

std::shared_ptr<Queue> make_queue() {
  auto queue = Queue::start();
  std::erase_if(queues().all, [](const auto& weak) { return weak.expired(); });
  queues().all.push_back(queue);
  return queue;
}

}  // namespace

std::shared_ptr<Queue> Queue::start() {
  auto queue = std::make_shared<Queue>();
  std::thread([queue] { queue->work_off(); }).detach();
  return queue;
}

void Queue::push(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  if (captured_) {
    captured_->push_back(std::move(work));
    return;
  }
  waiting_.push_back(std::move(work));
  changed_.notify_all();
}

void Queue::work_off() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return closed_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const auto work = std::move(waiting_.front());
    waiting_.pop_front();
    working_ = true;
    lock.unlock();
    work();
    std::this_thread::yield();  // streams advance together, where there are fewer processors too
    lock.lock();
    working_ = false;
    if (waiting_.empty()) changed_.notify_all();
  }
}

bool Queue::idle() {
  const std::lock_guard lock(mutex_);
  return waiting_.empty() && !working_;
}

bool Queue::wait_idle(double seconds) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::duration<double>(seconds),
                           [this] { return waiting_.empty() && !working_; });
}

void Queue::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

void Queue::begin_capture() {
  const std::lock_guard lock(mutex_);
  captured_.emplace();
}

std::optional<std::vector<std::function<void()>>> Queue::end_capture() {
  const std::lock_guard lock(mutex_);
  return std::exchange(captured_, std::nullopt);
}

std::int64_t Queue::stamp_ns() {
  if (cuda_control().h2d_ns + cuda_control().d2h_ns != 0) return told_ns_;
  const std::int64_t ns = std::exchange(opened_ns_, std::nullopt).value_or(now_ns());
  last_stamp_ns_ = std::max(ns, last_stamp_ns_ + kStampStepNs);
  return last_stamp_ns_;
}

namespace {
std::atomic<std::int64_t> g_latest_told_ns{0};
}  // namespace

std::int64_t opened_ns(std::uint64_t wait) {
  static std::mutex mutex;
  static std::uint64_t last_wait = 0;
  static std::int64_t ns = 0;
  const std::lock_guard lock(mutex);
  if (std::exchange(last_wait, wait) != wait) ns = now_ns();
  return ns;
}

std::int64_t latest_told_ns() { return g_latest_told_ns; }

void Queue::advance(std::int64_t ns) {
  told_ns_ += ns;
  std::int64_t latest = g_latest_told_ns;
  while (latest < told_ns_ && !g_latest_told_ns.compare_exchange_weak(latest, told_ns_)) {
  }
}

std::shared_ptr<Queue> queue_of(cu::Stream stream) {
  if (stream != nullptr) return stream->queue;
  const std::lock_guard lock(queues().mutex);
  auto& queue = queues().defaults[current_device()];
  if (queue == nullptr) queue = make_queue();
  return queue;
}

void delay_copy(Queue& queue, std::uintptr_t to, std::uintptr_t from) {
  CudaControl& control = cuda_control();
  if (control.slow_h2d_us + control.h2d_ns + control.d2h_ns == 0) return;
  const auto on_gpu = [](std::uintptr_t address) {
    const auto memory = memory_at(address, 1);
    return memory && memory->kind == MemoryKind::kDevice;
  };
  const bool to_gpu = on_gpu(to);
  if (to_gpu == on_gpu(from)) return;
  if (to_gpu && control.slow_h2d_us != 0)
    queue.push([delay_us = control.slow_h2d_us.load()] {
      std::this_thread::sleep_for(std::chrono::microseconds(delay_us));
    });
  std::uint64_t ns = to_gpu ? control.h2d_ns : control.d2h_ns;
  if (!to_gpu && ++control.d2h_timed >= control.d2h_quick_from && control.d2h_quick_from != 0)
    ns /= 4;
  queue.push([&queue, ns] { queue.advance(static_cast<std::int64_t>(ns)); });
}

bool cuda_idle(double seconds) {
  std::vector<std::shared_ptr<Queue>> all;
  {
    const std::lock_guard lock(queues().mutex);
    for (const auto& weak : queues().all)
      if (auto queue = weak.lock()) all.push_back(std::move(queue));
  }
  return std::ranges::all_of(all,
                             [seconds](const auto& queue) { return queue->wait_idle(seconds); });
}

void wait_for_all_queues() {
  if (!cuda_idle(kHangSeconds)) hang("a stream was not done");
}

}  // namespace railgauge::fake

using railgauge::fake::answer;
using railgauge::fake::cuda_control;
using railgauge::fake::enter;
using railgauge::fake::enter_context;
using railgauge::fake::queue_of;
using railgauge::fake::Stamp;

#define RAILGAUGE_ENTER(function) \
  if (const cu::Return failed = function(__func__); failed != cu::kSuccess) return failed

// NOLINTBEGIN(readability-identifier-naming): the vendor's names
extern "C" {

cu::Return cuStreamCreate(cu::Stream* stream, unsigned int) {
  RAILGAUGE_ENTER(enter_context);
  const std::lock_guard lock(railgauge::fake::queues().mutex);
  *stream = new cu::StreamObject{railgauge::fake::make_queue(), ++cuda_control().streams_made};
  ++cuda_control().streams;
  return cu::kSuccess;
}

cu::Return cuStreamDestroy_v2(cu::Stream stream) {
  if (stream == nullptr) return cu::kInvalidHandle;
  stream->queue->close();
  delete stream;
  --cuda_control().streams;
  return answer();
}

cu::Return cuStreamSynchronize(cu::Stream stream) {
  RAILGAUGE_ENTER(enter_context);
  if (!queue_of(stream)->wait_idle(railgauge::fake::kHangSeconds))
    railgauge::fake::hang("cuStreamSynchronize waited");
  return cu::kSuccess;
}

cu::Return cuStreamQuery(cu::Stream stream) {
  if (const cu::Return gone = answer(); gone != cu::kSuccess) return gone;
  if (!queue_of(stream)->idle()) return cu::kNotReady;
  return enter_context(__func__);
}

cu::Return cuCtxSynchronize() {
  RAILGAUGE_ENTER(enter_context);
  railgauge::fake::wait_for_all_queues();
  return cu::kSuccess;
}

cu::Return cuEventCreate(cu::Event* event, unsigned int flags) {
  RAILGAUGE_ENTER(enter_context);
  *event = new cu::EventObject{std::make_shared<Stamp>()};
  (*event)->stamp->timing = (flags & cu::kEventDisableTiming) == 0;
  ++cuda_control().events;
  return cu::kSuccess;
}

cu::Return cuEventDestroy_v2(cu::Event event) {
  if (event == nullptr) return cu::kInvalidHandle;
  delete event;
  --cuda_control().events;
  return answer();
}

cu::Return cuEventRecord(cu::Event event, cu::Stream stream) {
  RAILGAUGE_ENTER(enter_context);
  const auto queue = queue_of(stream);
  const std::uint64_t number = ++event->stamp->recorded;
  queue->push([stamp = event->stamp, number, raw = queue.get()] {
    stamp->time_ns = raw->stamp_ns();
    stamp->done = number;
  });
  return cu::kSuccess;
}

cu::Return cuEventQuery(cu::Event event) {
  if (const cu::Return gone = answer(); gone != cu::kSuccess) return gone;
  if (event->stamp->done < event->stamp->recorded) return cu::kNotReady;
  return enter_context(__func__);
}

cu::Return cuEventElapsedTime(float* milliseconds, cu::Event begin, cu::Event end) {
  RAILGAUGE_ENTER(enter_context);
  for (const cu::Event event : {begin, end}) {
    if (!event->stamp->timing || event->stamp->recorded == 0) return cu::kInvalidHandle;
    if (event->stamp->done < event->stamp->recorded) return cu::kNotReady;
  }
  *milliseconds =
      static_cast<float>(static_cast<double>(end->stamp->time_ns - begin->stamp->time_ns) / 1e6);
  return cu::kSuccess;
}

cu::Return cuStreamWaitValue32_v2(cu::Stream stream, cu::DevicePtr address, std::uint32_t value,
                                  unsigned int flags) {
  RAILGAUGE_ENTER(enter_context);
  if (cuda_control().no_stream_memops != 0) return cu::kNotSupported;
  if (flags != cu::kWaitValueGeq || !railgauge::fake::memory_at(address, sizeof value))
    return cu::kInvalidValue;
  // All that a gate holds begin together, but for those that the control lets begin late: the ones
  // after the first that waits for a value.
  static std::atomic<std::uint64_t> last_wait{0};
  const std::uint64_t wait = (address << 20U) ^ value;
  const bool follows = last_wait.exchange(wait) == wait;
  const auto begin_ns =
      railgauge::fake::latest_told_ns() +
      static_cast<std::int64_t>(follows ? cuda_control().opens_late_ns.load() : 0);
  const auto queue = queue_of(stream);
  queue->push([address, value, wait, begin_ns, raw = queue.get()] {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): addresses are numbers in this interface
    const auto* word = reinterpret_cast<const std::uint32_t*>(address);
    railgauge::fake::wait_until(
        [&] {
          return static_cast<std::int32_t>(__atomic_load_n(word, __ATOMIC_ACQUIRE) - value) >= 0;
        },
        "a stream waited for a value");
    raw->begin_at(begin_ns);
    raw->opened_at(railgauge::fake::opened_ns(wait));
  });
  return cu::kSuccess;
}

cu::Return cuStreamWaitValue32(cu::Stream stream, cu::DevicePtr address, std::uint32_t value,
                               unsigned int flags) {
  return cuStreamWaitValue32_v2(stream, address, value, flags);
}

cu::Return cuStreamBeginCapture_v2(cu::Stream stream, int) {
  RAILGAUGE_ENTER(enter_context);
  if (stream == nullptr) return cu::kInvalidHandle;
  stream->queue->begin_capture();
  return cu::kSuccess;
}

// The stream captures no more, whatever this returns.
cu::Return cuStreamEndCapture(cu::Stream stream, cu::Graph* graph) {
  auto works = stream->queue->end_capture();
  RAILGAUGE_ENTER(enter_context);
  if (!works) return cu::kInvalidValue;
  *graph = new cu::GraphObject{std::move(*works)};
  ++cuda_control().graphs;
  return cu::kSuccess;
}

cu::Return cuGraphInstantiateWithFlags(cu::GraphExec* executable, cu::Graph graph,
                                       unsigned long long) {
  RAILGAUGE_ENTER(enter_context);
  *executable = new cu::GraphExecObject{graph->works};
  ++cuda_control().graphs;
  return cu::kSuccess;
}

cu::Return cuGraphLaunch(cu::GraphExec executable, cu::Stream stream) {
  RAILGAUGE_ENTER(enter_context);
  for (const auto& work : executable->works) queue_of(stream)->push(work);
  return cu::kSuccess;
}

cu::Return cuGraphExecDestroy(cu::GraphExec executable) {
  delete executable;
  --cuda_control().graphs;
  return answer();
}

cu::Return cuGraphDestroy(cu::Graph graph) {
  delete graph;
  --cuda_control().graphs;
  return answer();
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
