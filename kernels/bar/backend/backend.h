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

// The caching of the CPU's side, as far as the backend reports it.
enum class Caching : std::uint8_t { kUnknown, kWriteCombined, kUncached, kCached };
std::string_view caching_in_words(Caching caching);

// The same bytes from both sides.
struct View {
  std::byte* cpu = nullptr;
  cu::DevicePtr gpu = 0;
  std::size_t bytes = 0;
  Caching caching = Caching::kUnknown;
};

// GPU memory on its way through a backend's steps. Destroying it undoes what was done. The GPU's
// context must be current throughout. Not thread safe.
class Window {
 public:
  virtual ~Window() = default;
  // In this order, and again from pin() after unpin(). An error is one line that names the call and
  // its error number.
  virtual Status pin() = 0;  // the memory can be reached from outside the GPU
  virtual Status map() = 0;  // the CPU has an address for it
  virtual Status unmap() = 0;
  virtual Status unpin() = 0;
  // After map().
  [[nodiscard]] virtual View view() const = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
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
  // A fake has a part in it, beside the driver's.
  [[nodiscard]] virtual bool synthetic() const { return false; }
};

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
