// The stock of buffers and contexts that a KeepWarm owns.
#include "kernels/gpu/reuse.h"

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "kernels/dl/nvml.h"

namespace railgauge::gpu {
namespace {

// Buffers of one sort that are kept; more are freed.
constexpr std::size_t kMaxStocked = 64;
// A buffer more than this many times as large as the request is left for a larger one.
constexpr std::size_t kMaxOversize = 2;

// A buffer and its sort: only a request of the same sort takes it.
template <class Buffer>
struct Stocked {
  std::string shelf;
  Buffer buffer;
};

// Everything that stays. Members are released in reverse, the contexts after the buffers in them.
struct Stock {
  std::optional<NvmlUse> nvml;           // initialised once and not by every session again
  std::vector<PrimaryContext> contexts;  // released last: declared first
  // The contexts' handles, in the same order; the owners hold devices.
  std::vector<cu::Context> raw_contexts;
  // Other objects that keep_while_warm() holds.
  std::vector<std::shared_ptr<void>> things;
  std::vector<Stocked<PinnedBuffer>> pinned;
  std::vector<Stocked<GpuBuffer>> gpu;

  void drop_buffers() {
    pinned.clear();
    gpu.clear();
  }
  template <class Buffer>
  std::vector<Stocked<Buffer>>& of() {
    if constexpr (std::is_same_v<Buffer, PinnedBuffer>)
      return pinned;
    else
      return gpu;
  }
};

Stock* g_stock = nullptr;  // owned by the KeepWarm that lives

// Takes the smallest sufficient buffer from the stock; returns an empty one without any.
template <class Buffer>
Buffer take(const std::string& shelf, std::size_t bytes) {
  if (g_stock == nullptr) return {};
  auto& all = g_stock->of<Buffer>();
  auto best = all.end();
  for (auto it = all.begin(); it != all.end(); ++it) {
    if (it->shelf != shelf || it->buffer.size() < bytes) continue;
    if (it->buffer.size() / kMaxOversize > std::max<std::size_t>(bytes, GpuBuffer::kPageBytes))
      continue;
    if (best == all.end() || it->buffer.size() < best->buffer.size()) best = it;
  }
  if (best == all.end()) return {};
  Buffer buffer = std::move(best->buffer);
  all.erase(best);
  return buffer;
}

// Takes or allocates. A failed allocation empties the stock and is tried once more.
template <class Buffer, class Allocate>
Result<Lent<Buffer>> lend(const std::string& shelf, std::size_t bytes, Allocate allocate) {
  Buffer buffer = take<Buffer>(shelf, bytes);
  if (buffer.size() == 0) {
    auto made = allocate();
    if (!made && g_stock != nullptr) {
      g_stock->drop_buffers();
      made = allocate();
    }
    buffer = RG_TRY(std::move(made));
  }
  return Lent<Buffer>(std::move(buffer), shelf);
}

}  // namespace

KeepWarm::KeepWarm() {
  RG_CHECK(g_stock == nullptr);
  g_stock = new Stock;
}

// Frees the buffers under a context of theirs; the contexts live until the stock is deleted.
KeepWarm::~KeepWarm() {
  // Buffers are freed under a context; theirs are alive until the Stock is gone.
  if (!g_stock->raw_contexts.empty())
    static_cast<void>(loaded_cuda().ctx_set_current(g_stock->raw_contexts.front()));
  g_stock->drop_buffers();
  delete std::exchange(g_stock, nullptr);
}

bool warm() { return g_stock != nullptr; }

// Retains the context once more. The primary context is counted by the driver, so the kernel's own
// release leaves it alive.
void keep_context(const Gpu& gpu) {
  if (g_stock == nullptr || std::ranges::count(g_stock->raw_contexts, gpu.context()) != 0) return;
  cu::Context context = nullptr;
  if (loaded_cuda().primary_ctx_retain(&context, gpu.device()) != cu::kSuccess) return;
  g_stock->contexts.emplace_back(gpu.device());
  g_stock->raw_contexts.push_back(context);
  if (g_stock->nvml) return;
  if (auto use = use_nvml()) g_stock->nvml = std::move(*use);
}

void keep_while_warm(std::shared_ptr<void> thing) {
  if (g_stock != nullptr) g_stock->things.push_back(std::move(thing));
}

// Returns the buffer to the stock; without one the buffer is freed here.
template <class Buffer>
void Lent<Buffer>::give_back() {
  Buffer buffer = std::exchange(buffer_, Buffer{});
  if (g_stock == nullptr || shelf_.empty() || buffer.size() == 0) return;
  auto& all = g_stock->of<Buffer>();
  if (all.size() < kMaxStocked) all.push_back({std::exchange(shelf_, {}), std::move(buffer)});
}

template class Lent<PinnedBuffer>;
template class Lent<GpuBuffer>;

Result<Lent<PinnedBuffer>> lend_pinned(std::size_t bytes, PinnedKind kind,
                                       const std::string& place) {
  return lend<PinnedBuffer>(fmt::format("{}:{}", static_cast<int>(kind), place), bytes,
                            [&] { return PinnedBuffer::allocate(bytes, kind); });
}

Result<Lent<GpuBuffer>> lend_gpu(const Gpu& gpu, std::size_t bytes) {
  return lend<GpuBuffer>(gpu.name(), bytes, [&] { return GpuBuffer::allocate(gpu.name(), bytes); });
}

}  // namespace railgauge::gpu
