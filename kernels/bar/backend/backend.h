// Ways to map GPU memory for the CPU, behind one interface. None is trusted: path.h verifies each
// mapping before any measurement.
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
// stores into whole lines and never caches loads. Uncached memory needs one PCIe transaction for
// each access.
enum class Caching : std::uint8_t { kUnknown, kWriteCombined, kUncached, kCached };
// Returns "write-combining", "uncached", "cached" or "unknown": a fact of the task.
std::string_view caching_in_words(Caching caching);

// One piece of memory as the CPU and the GPU address it. Both addresses are of the same byte.
struct View {
  // Address for loads and stores of this process; valid between map() and unmap().
  std::byte* cpu = nullptr;
  // Address for the CUDA driver and for GPU kernels; valid between pin() and unpin().
  cu::DevicePtr gpu = 0;
  // Length that both sides may use; may exceed the requested length.
  std::size_t bytes = 0;
  Caching caching = Caching::kUnknown;
};

// Copies by the library that mapped a window, with the promises of copy_routines.h.
struct OwnCopies {
  void (*write)(std::byte* to, const std::byte* from, std::size_t bytes) = nullptr;
  void (*read)(std::byte* to, const std::byte* from, std::size_t bytes) = nullptr;
};

// GPU memory in the steps of a backend. The destructor undoes the completed steps. The GPU's
// context must be current throughout. Not thread safe.
class Window {
 public:
  virtual ~Window() = default;
  // Call pin, map, unmap, unpin in this order, and from pin() again after unpin(). An error is one
  // line with the call and its error number. pin() makes the memory reachable from outside the GPU.
  virtual Status pin() = 0;
  // Gives the CPU an address for the pinned memory.
  virtual Status map() = 0;
  // Both do nothing when there is nothing to undo, so that a destructor may call them in any state.
  virtual Status unmap() = 0;
  virtual Status unpin() = 0;
  // Returns the mapped memory. Call after map().
  [[nodiscard]] virtual View view() const = 0;
  // Asks the driver about the mapping, as GDRCopy's gdr_get_info does. Call after map(), and only
  // where has_info() says that the backend has such a call.
  virtual Status get_info() { return {}; }
  [[nodiscard]] virtual bool has_info() const { return false; }
  // Returns the copies of the library that mapped this window; they are for this thread, and end
  // with the mapping. kFailedPrecondition where the backend has none. Call after map().
  virtual Result<OwnCopies> own_copies();
};

// One way to map GPU memory. It outlives its windows. Not thread safe.
class Backend {
 public:
  virtual ~Backend() = default;
  // Returns the backend's word of the parameter `backend`, which is also the fact `path`.
  [[nodiscard]] virtual std::string_view name() const = 0;
  // Asks for a caching of the windows that are made next; kUnknown leaves it to the driver. A
  // backend that cannot choose ignores it: view().caching says what there is.
  virtual void ask_caching(Caching /*caching*/) {}
  // Makes a window over at least `bytes` of its own memory, beginning on a GPU page. Waives, with
  // the missing part, when machine or driver do not support the backend.
  virtual Result<std::unique_ptr<Window>> make(const gpu::Gpu& gpu, std::size_t bytes) = 0;
  // Makes a window over the caller's memory, which outlives it: any address and length from
  // cuMemAlloc. kUnimplemented when the backend maps only its own allocations.
  virtual Result<std::unique_ptr<Window>> adopt(const gpu::Gpu& gpu, cu::DevicePtr memory,
                                                std::size_t bytes) = 0;
  // Reports whether pin() and map() do anything.
  [[nodiscard]] virtual bool has_steps() const { return true; }
  // Returns "libgdrapi 2.6, gdrdrv 2.6" after a window was made; "" without a library.
  [[nodiscard]] virtual std::string library() const { return ""; }
  // Reports whether a fake library is part of this backend. A fake driver is marked separately.
  [[nodiscard]] virtual bool synthetic() const { return false; }
};

// Each makes the backend in the file of its name. None fails: make() and adopt() report what the
// machine lacks.
std::unique_ptr<Backend> make_gdrdrv_backend();
std::unique_ptr<Backend> make_dmabuf_backend();
std::unique_ptr<Backend> make_coherent_backend();
std::unique_ptr<Backend> make_vulkan_backend();

// Makes all backends, in the order of trial.
std::vector<std::unique_ptr<Backend>> make_backends();

// Refuses managed memory (kFailedPrecondition): its pages move between host and GPU, so none has a
// fixed place behind the BAR.
Status check_fixed_memory(const gpu::Gpu& gpu, cu::DevicePtr memory);

}  // namespace railgauge::bar
