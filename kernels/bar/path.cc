// Opening and proving of a path, and the reasons of the paths that were refused.
#include "kernels/bar/path.h"

#include <algorithm>

#include <fmt/format.h>

#include "kernels/core/base/outcome.h"
#include "kernels/memory/host_buffer.h"

namespace railgauge::bar {
namespace {

// The proof covers 64 KiB at each end: a mapping that is shifted or too short differs there.
constexpr std::size_t kProofBytes = 64U << 10U;
constexpr std::uint64_t kCpuWroteSeed = 0x6261722d637075;
constexpr std::uint64_t kGpuWroteSeed = 0x6261722d677075;

// Makes, pins, maps and proves one backend's window. A failure undoes the earlier steps.
Result<std::unique_ptr<Window>> open_window(Backend& backend, const MakeWindow& make,
                                            const Prove& prove) {
  std::unique_ptr<Window> window = RG_TRY(make(backend));
  RG_TRY_OK(window->pin());
  RG_TRY_OK(window->map());
  RG_TRY_OK(prove(window->view()));
  return window;
}

// Returns the graver of two reasons: wrong bytes first, then an error that is not a waiver.
Code graver(Code a, Code b) {
  for (const Code code : {a, b})
    if (code == Code::kDataLoss) return code;
  return outcome_of(a) == kWaived ? b : a;
}

// The message with the backend's name in front, unless it has it already.
std::string with_name(std::string_view name, const std::string& message) {
  const std::string prefix = std::string(name) + ": ";
  return message.starts_with(prefix) ? message : prefix + message;
}

// kDataLoss when `seen` is not the pattern of `seed`. `offset` is that of the first byte in the
// window.
Status compare(std::span<const std::byte> seen, std::uint64_t seed, std::string_view name,
               std::string_view direction, std::size_t offset) {
  const auto mismatch = find_mismatch(seen, seed);
  if (!mismatch) return {};
  return fail(Code::kDataLoss, fmt::format("{}: prove the mapping, {}: {}", name, direction,
                                           mismatch_words(*mismatch, offset)));
}

}  // namespace

// Every refusal is kept for the fact path_refused, also where a later backend works.
Result<Path> choose_path(std::span<const std::unique_ptr<Backend>> backends,
                         std::string_view wanted, const MakeWindow& make, const Prove& prove) {
  Path path;
  Code code = Code::kFailedPrecondition;
  for (const auto& backend : backends) {
    if (wanted != "auto" && wanted != backend->name()) continue;
    auto window = open_window(*backend, make, prove);
    if (window) {
      path.backend = backend.get();
      path.window = std::move(*window);
      return path;
    }
    code = graver(code, window.error().code);
    path.alarming = outcome_of(code) != kWaived;
    const std::string why = with_name(backend->name(), window.error().message);
    path.refused += (path.refused.empty() ? "" : " | ") + why;
    if (window.error().code == Code::kDataLoss && path.corrupt)
      path.corrupt = fail(Code::kDataLoss, why);
  }
  RG_CHECK(!path.refused.empty());  // the parameter's choices are the backends
  return fail(code, path.refused);
}

// Both directions at both ends. The buffer is cleared between write and read, so that bytes left in
// it prove nothing.
Status prove_view(const gpu::Gpu& gpu, const View& view, const Copier& copier,
                  std::string_view name) {
  const Cuda& cuda = loaded_cuda();
  const std::size_t bytes = std::min(kProofBytes, view.bytes);
  const HostBuffer buffer = RG_TRY(HostBuffer::allocate(bytes));
  const std::span<std::byte> host = buffer.span().first(bytes);
  for (const std::size_t offset : {std::size_t{0}, view.bytes - bytes}) {
    fill_pattern(host, kCpuWroteSeed + offset);
    copier.writer->write(view.cpu + offset, host.data(), bytes);
    std::ranges::fill(host, std::byte{0});
    RG_TRY_OK(gpu_status(gpu, cuda.memcpy_dtoh(host.data(), view.gpu + offset, bytes),
                         "copy from it to prove the mapping"));
    RG_TRY_OK(compare(host, kCpuWroteSeed + offset, name, "CPU to GPU", offset));
    fill_pattern(host, kGpuWroteSeed + offset);
    RG_TRY_OK(gpu_status(gpu, cuda.memcpy_htod(view.gpu + offset, host.data(), bytes),
                         "copy to it to prove the mapping"));
    // A copy from memory that is not pinned may return before its last bytes are there.
    RG_TRY_OK(gpu_status(gpu, cuda.ctx_synchronize(), "wait for the proof's copy"));
    std::ranges::fill(host, std::byte{0});
    copier.reader->read(host.data(), view.cpu + offset, bytes);
    RG_TRY_OK(compare(host, kGpuWroteSeed + offset, name, "GPU to CPU", offset));
  }
  return {};
}

}  // namespace railgauge::bar
