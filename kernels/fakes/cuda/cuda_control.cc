// The control of the fake driver, by tests and by RAILGAUGE_FAKE_CUDA.
#include <array>
#include <chrono>
#include <mutex>
#include <thread>

#include "kernels/fakes/cuda/cuda_objects.h"
#include "kernels/fakes/cuda/fake_cuda.h"
#include "kernels/fakes/settings.h"

namespace railgauge::fake {
namespace {

struct Trace {
  std::mutex mutex;
  std::vector<const char*> names;
  std::vector<std::uint64_t> copy_streams;
};
Trace& trace() {
  static auto* made = new Trace;
  return *made;
}

}  // namespace

CudaControl& cuda_control() {
  static CudaControl* control = [] {
    auto* made = new CudaControl;
    made->reset();
    return made;
  }();
  return *control;
}

std::int64_t CudaControl::live_handles() const {
  return contexts + streams + events + modules + allocations + pinned + externals + graphs +
         physical;
}

void CudaControl::reset() {
  const std::array settings{
      Setting{"fail_call", fail_call, 0},
      Setting{"fail_from", fail_from, 0},
      Setting{"fail_error", fail_error, cu::kUnknown},
      Setting{"gpus", gpus, 2},
      Setting{"mig", mig, 0},
      Setting{"driver_version", driver_version, 13000},
      Setting{"capability", capability, 90},
      Setting{"total_bytes", total_bytes, 8ULL << 30U},
      Setting{"free_bytes", free_bytes, 0},
      Setting{"no_stream_memops", no_stream_memops, 0},
      Setting{"no_peer", no_peer, 0},
      Setting{"no_twins", no_twins, 0},
      Setting{"flip_byte", flip_byte, 0},
      Setting{"flip_synchronous", flip_synchronous, 0},
      Setting{"drop_copies_from", drop_copies_from, 0},
      Setting{"slow_h2d_us", slow_h2d_us, 0},
      Setting{"opens_late_ns", opens_late_ns, 0},
      Setting{"h2d_ns", h2d_ns, 0},
      Setting{"d2h_ns", d2h_ns, 0},
      Setting{"d2h_quick_from", d2h_quick_from, 0},
      Setting{"drop_to_gpu", drop_to_gpu, 0},
      Setting{"drop_to_host", drop_to_host, 0},
      Setting{"writes_ordering", writes_ordering, cu::kWritesOrderedForAllDevices},
      Setting{"no_flush", no_flush, 0},
      Setting{"hold_writes_us", hold_writes_us, 0},
      Setting{"flush_does_nothing", flush_does_nothing, 0},
      Setting{"dmabuf", dmabuf, 1},
      Setting{"dmabuf_mmap", dmabuf_mmap, 0},
      Setting{"pcie_mapping", pcie_mapping, 0},
      Setting{"coherent", coherent, 0},
      Setting{"import_other", import_other, 0},
      Setting{"fabric", fabric, 0},
      Setting{"multicast", multicast, 0},
      Setting{"multicast_skips", multicast_skips, 0},
      Setting{"multicast_flips", multicast_flips, 0},
      Setting{"gin_headers", gin_headers, 22809},
  };
  apply_settings(settings, "RAILGAUGE_FAKE_CUDA");
  const std::lock_guard lock(trace().mutex);
  trace().names.clear();
  trace().copy_streams.clear();
  calls = 0;
  copies = 0;
  copy_blocks = 0;
  d2h_timed = 0;
  streams_made = 0;
  copies_to_gpu = copies_to_host = flushes = 0;
}

std::vector<std::string> CudaControl::call_names() const {
  const std::lock_guard lock(trace().mutex);
  return {trace().names.begin(), trace().names.end()};
}

std::vector<std::uint64_t> CudaControl::copy_streams() const {
  const std::lock_guard lock(trace().mutex);
  return trace().copy_streams;
}

bool begin_copy(cu::Stream stream) {
  CudaControl& control = cuda_control();
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(trace().mutex);
    trace().copy_streams.push_back(stream != nullptr ? stream->number : 0);
    number = ++control.copies;
  }
  if (control.drop_copies_from == 0 || number < control.drop_copies_from) return true;
  if (stream != nullptr)
    stream->queue->push([] { std::this_thread::sleep_for(std::chrono::microseconds(1)); });
  return false;
}

cu::Return enter(const char* name) {
  CudaControl& control = cuda_control();
  const std::lock_guard lock(trace().mutex);
  trace().names.push_back(name);
  const bool fails = ++control.calls == control.fail_call;
  return fails ? static_cast<cu::Return>(control.fail_error.load()) : answer();
}

cu::Return answer() {
  const CudaControl& control = cuda_control();
  const bool is_gone = control.fail_from != 0 && control.calls >= control.fail_from;
  return is_gone ? static_cast<cu::Return>(control.fail_error.load()) : cu::kSuccess;
}

}  // namespace railgauge::fake
