// Ways to let the CPU see GPU memory, behind one interface. None is trusted: path.h proves what it
// gives before anything is measured.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/base/result.h"
#include "kernels/dl/cuda.h"
#include "kernels/gpu/device.h"

namespace railgauge::bar {

// The caching of the CPU's side, as far as the backend reports it. Write-combined memory gathers
// stores into whole lines, and its loads are never cached. Uncached memory gets one PCIe
// transaction for each access.
enum class Caching : std::uint8_t { kUnknown, kWriteCombined, kUncached, kCached };
// "write-combining", "uncached", "cached" or "unknown": a fact of the task.
std::string_view caching_in_words(Caching caching);

// One piece of memory, as the CPU and the GPU address it. Both addresses name the same first byte.
struct View {
  // Address for loads and stores of this process; valid between map() and unmap().
  std::byte* cpu = nullptr;
  // Address for the CUDA driver and for GPU kernels; valid between pin() and unpin().
  cu::DevicePtr gpu = 0;
  // Length that both sides may use. It may exceed the length that was asked for.
  std::size_t bytes = 0;
  Caching caching = Caching::kUnknown;
};

// GPU memory on its way through a backend's steps. Destroying it undoes what was done. The GPU's
// context must be current throughout. Not thread safe.
class Window {
 public:
  virtual ~Window() = default;
  // In the order pin, map, unmap, unpin, and again from pin() after unpin(). An error is one line
  // that names the call and its error number. pin() makes the memory reachable from outside the
  // GPU.
  virtual Status pin() = 0;
  // Gives the CPU an address for the pinned memory.
  virtual Status map() = 0;
  // Both are no-ops where there is nothing to undo, so that a destructor may call them at any
  // state.
  virtual Status unmap() = 0;
  virtual Status unpin() = 0;
  // After map().
  [[nodiscard]] virtual View view() const = 0;
};

// One way to map GPU memory. It outlives its windows. Not thread safe.
class Backend {
 public:
  virtual ~Backend() = default;
  // The word of the parameter `backend`, also the fact `path`.
  [[nodiscard]] virtual std::string_view name() const = 0;
  // A window over at least `bytes` of memory of its own, which begins on a GPU page. Waives, saying
  // what is missing, where machine or driver lack the way.
  virtual Result<std::unique_ptr<Window>> make(const gpu::Gpu& gpu, std::size_t bytes) = 0;
  // A window over memory of the caller, which outlives it: any address and length of cuMemAlloc's.
  // kUnimplemented where the way maps only what it allocated itself.
  virtual Result<std::unique_ptr<Window>> adopt(const gpu::Gpu& gpu, cu::DevicePtr memory,
                                                std::size_t bytes) = 0;
  // Whether pin() and map() do anything.
  [[nodiscard]] virtual bool has_steps() const { return true; }
  // "libgdrapi 2.6, gdrdrv 2.6", after a window was made; "" where there is nothing to report.
  [[nodiscard]] virtual std::string library() const { return ""; }
  // True when a fake library has a part in this backend. The driver has a mark of its own.
  [[nodiscard]] virtual bool synthetic() const { return false; }
};

// One function for each backend; each is defined in the file of its name. None of them fails: what
// the machine lacks shows in make() and adopt().
std::unique_ptr<Backend> make_gdrdrv_backend();
std::unique_ptr<Backend> make_dmabuf_backend();
std::unique_ptr<Backend> make_coherent_backend();
std::unique_ptr<Backend> make_vulkan_backend();

// All of them, in the order in which they are tried.
std::vector<std::unique_ptr<Backend>> make_backends();

// Refuses (kFailedPrecondition) managed memory: it moves between host and GPU, so that no page of
// it has a fixed place behind the BAR.
Status check_fixed_memory(const gpu::Gpu& gpu, cu::DevicePtr memory);

}  // namespace railgauge::bar
