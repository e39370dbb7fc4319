// Checks that the BAR carries bytes exactly. Its only figure, `check_ns`, is the time of one
// piece's check (both directions, comparison included) and is not worth comparing, but the check
// makes the family's figures trustworthy. Both directions are checked with unaligned starts and
// lengths (sanity_cases.h) between guard bytes, whole mappings against a GPU kernel on the other
// side, and memory that begins where cuMemAlloc put it, beside a GPU page's start. A path that
// cannot map such memory waives that part in a note. Managed memory is waived too: it has no fixed
// page to map. Wrong bytes fail the task, even those of an earlier path that the proof refused; the
// other kernels use the next path with a warning.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "kernels/bar/copy_timer.h"
#include "kernels/bar/sanity_cases.h"
#include "kernels/bar/setup.h"
#include "kernels/bar/with_routines.h"
#include "kernels/core/base/outcome.h"
#include "kernels/gpu/pattern.h"
#include "kernels/memory/gpu_buffer.h"
#include "kernels/memory/host_buffer.h"

namespace railgauge::bar {
namespace {

constexpr std::uint64_t kSeed = 0x62617273616e;
// Value of the guard bytes around each piece.
constexpr std::byte kGuard{0xa5};
// The driver packs several allocations of this size into one GPU page of 64 KiB, so one of eight
// begins beside the page's start.
constexpr std::size_t kUnalignedBytes = 2000;
constexpr int kUnalignedTries = 8;

// Owner of plain memory of cuMemAlloc. GpuBuffer aligns to GPU pages, which these checks must not
// have.
using Memory = gpu::CudaHandle<cu::DevicePtr, &Cuda::mem_free, "free the memory">;

// Words for the first byte of the guard that changed, or "". `which` names the guard.
std::string guard_broken(std::span<const std::byte> guard, std::string_view which) {
  const auto broken = std::ranges::find_if(guard, [](std::byte byte) { return byte != kGuard; });
  if (broken == guard.end()) return "";
  return fmt::format("guard byte {} {} is 0x{:02x}, expected 0x{:02x}", broken - guard.begin(),
                     which, std::to_integer<unsigned>(*broken), std::to_integer<unsigned>(kGuard));
}

// The same for both guards around a piece; `region` is the piece with them.
std::string guards_broken(std::span<const std::byte> region) {
  const std::string before =
      guard_broken(region.first(kGuardBytes), fmt::format("of the {} before it", kGuardBytes));
  return before.empty() ? guard_broken(region.last(kGuardBytes), "beyond its end") : before;
}

// All checks compare bytes; none of them is a sample of a bandwidth.
class Sanity final : public Kernel {
 public:
  explicit Sanity(std::span<const Routine> known) : known_(known) {}

  // Fails for wrong bytes of an earlier path, unlike the other kernels of the family.
  Status prepare(Context& context) override {
    setup_ = RG_TRY(Setup::open(context, unaligned_window_bytes(), known_));
    RG_TRY_OK(setup_.check_earlier_paths());
    pattern_ = RG_TRY(gpu::Pattern::create(setup_.gpu()));
    // A piece, its guards, and room to begin at any alignment.
    host_ = RG_TRY(HostBuffer::allocate(unaligned_window_bytes() + kGuardBytes));
    seen_ = RG_TRY(HostBuffer::allocate(unaligned_window_bytes() + 2 * kGuardBytes));
    return {};
  }

  // One pass makes every check once. The notes about waived parts appear in the first pass alone.
  Status measure(Context& context, Group& /*group*/) override {
    const auto rounds = context.params.integer("iterations");
    setup_.session().begin_point();
    Sampled sampled;
    for (std::int64_t round = 0; round < rounds; ++round) {
      RG_TRY_OK(check_pieces(context, setup_.view(), sampled.samples));
      RG_TRY_OK(check_whole());
      RG_TRY_OK(check_unaligned_memory(context, round == 0, sampled.samples));
    }
    setup_.session().end_point();
    RG_TRY_OK(setup_.session().check_undisturbed(context));
    RG_TRY_OK(tell_of_managed_memory(context));
    for (const double sample : sampled.samples) sampled.measure_ns += sample;
    sampled.converged = true;
    sampled.stop_reason = "iterations";
    Point point = setup_.make_point({.metric = "check_ns", .meaning = "completion", .unit = "ns"},
                                    unaligned_window_bytes(), sampled, context.raw_samples);
    point.set_verified(true);
    setup_.session().report(context, std::move(point));
    return {};
  }

 private:
  // A kDataLoss error that names GPU, backend, routine and the place of the piece.
  [[nodiscard]] tl::unexpected<Error> wrong(const View& view, const Piece& piece,
                                            std::string_view what) const {
    return fail(Code::kDataLoss,
                fmt::format("{}: BAR by {}, {}: {} bytes at 0x{:x} + {}: {}", setup_.gpu().name(),
                            setup_.backend().name(), setup_.copier().name(), piece.bytes, view.gpu,
                            piece.offset, what));
  }

  // Checks all unaligned pieces of one mapping, each in both directions. Appends the time of each
  // piece in ns.
  Status check_pieces(const Context& context, const View& view, std::vector<double>& times_ns) {
    const TickClock& clock = tick_clock(context);
    for (const Piece& piece : unaligned_pieces(view.bytes)) {
      RG_TRY_OK(check_deadline(context, "check the BAR"));
      const std::uint64_t begin = clock.ticks();
      RG_TRY_OK(check_write(view, piece));
      RG_TRY_OK(check_read(view, piece));
      times_ns.push_back(clock.to_ns(clock.ticks() - begin));
    }
    return {};
  }

  // The CPU writes the piece; the GPU's copy shows the pattern in it and the guards around it.
  Status check_write(const View& view, const Piece& piece) {
    const Cuda& cuda = loaded_cuda();
    const cu::DevicePtr region = view.gpu + piece.offset - kGuardBytes;
    const std::size_t region_bytes = piece.bytes + 2 * kGuardBytes;
    RG_TRY_OK(gpu_status(
        setup_.gpu(), cuda.memset_d8(region, std::to_integer<unsigned char>(kGuard), region_bytes),
        "set the guards"));
    RG_TRY_OK(gpu_status(setup_.gpu(), cuda.ctx_synchronize(), "set the guards"));
    const std::span<std::byte> host = host_.span().subspan(piece.host_offset, piece.bytes);
    fill_pattern(host, kSeed + piece.offset);
    setup_.copier().writer->write(view.cpu + piece.offset, host.data(), piece.bytes);
    RG_TRY_OK(gpu_status(setup_.gpu(), cuda.memcpy_dtoh(seen_.data(), region, region_bytes),
                         "copy from it to compare"));
    const std::span<const std::byte> seen = seen_.span().first(region_bytes);
    if (const std::string broken = guards_broken(seen); !broken.empty())
      return wrong(view, piece, "the write touched more: " + broken);
    const auto mismatch =
        find_mismatch(seen.subspan(kGuardBytes, piece.bytes), kSeed + piece.offset);
    if (!mismatch) return {};
    return wrong(view, piece, "written " + mismatch_words(*mismatch));
  }

  // The GPU's copy writes the piece; the CPU reads it, and nothing beside its own buffer changes.
  Status check_read(const View& view, const Piece& piece) {
    const Cuda& cuda = loaded_cuda();
    const std::uint64_t seed = kSeed + piece.offset + 1;
    const std::span<std::byte> host = host_.span().subspan(piece.host_offset, piece.bytes);
    fill_pattern(host, seed);
    RG_TRY_OK(gpu_status(setup_.gpu(),
                         cuda.memcpy_htod(view.gpu + piece.offset, host.data(), piece.bytes),
                         "copy to it"));
    RG_TRY_OK(gpu_status(setup_.gpu(), cuda.ctx_synchronize(), "copy to it"));
    const std::span<std::byte> region =
        seen_.span().subspan(piece.host_offset, piece.bytes + 2 * kGuardBytes);
    std::ranges::fill(region, kGuard);
    const std::span<std::byte> seen = region.subspan(kGuardBytes, piece.bytes);
    setup_.copier().reader->read(seen.data(), view.cpu + piece.offset, piece.bytes);
    if (const std::string broken = guards_broken(region); !broken.empty())
      return wrong(view, piece, "the read wrote beside its buffer: " + broken);
    const auto mismatch = find_mismatch(seen, seed);
    if (!mismatch) return {};
    return wrong(view, piece, "read " + mismatch_words(*mismatch));
  }

  // A GPU kernel takes the other side instead of a copy engine, over the whole mapping.
  Status check_whole() {
    const View& view = setup_.view();
    const std::size_t bytes = unaligned_window_bytes();
    const Piece whole{.bytes = bytes};
    RG_TRY_OK(pattern_->fill(view.gpu, bytes, kSeed));
    const std::span<std::byte> host = host_.span().first(bytes);
    std::ranges::fill(host, std::byte{0});
    setup_.copier().reader->read(host.data(), view.cpu, bytes);
    if (const auto mismatch = find_mismatch(host, kSeed))
      return wrong(view, whole,
                   fmt::format("byte {}, written by a GPU kernel, is 0x{:02x}, expected 0x{:02x}",
                               mismatch->offset, mismatch->seen, mismatch->expected));
    fill_pattern(host, kSeed + 1);
    setup_.copier().writer->write(view.cpu, host.data(), bytes);
    return pattern_->verify(view.gpu, bytes, kSeed + 1,
                            setup_.gpu().name() + ": BAR write, read by a GPU kernel");
  }

  // Checks memory of cuMemAlloc that does not begin at a GPU page. Several small allocations share
  // a page, so one of a few tries begins beside its start.
  Status check_unaligned_memory(Context& context, bool tell, std::vector<double>& times_ns) {
    std::vector<Memory> kept;
    cu::DevicePtr unaligned = 0;
    for (int tries = 0; tries < kUnalignedTries && unaligned == 0; ++tries) {
      cu::DevicePtr memory = 0;
      RG_TRY_OK(gpu_status(setup_.gpu(), loaded_cuda().mem_alloc(&memory, kUnalignedBytes),
                           "allocate 2000 bytes"));
      kept.emplace_back(memory);
      if (memory % GpuBuffer::kPageBytes != 0) unaligned = memory;
    }
    if (unaligned == 0) {
      if (tell)
        context.reporter.note("info", "unaligned cuMemAlloc memory: waived: the driver gave none");
      return {};
    }
    auto window = open_adopted(unaligned, kUnalignedBytes);
    // Not proved before: wrong bytes in the checks below fail the task.
    if (window) return check_pieces(context, (*window)->view(), times_ns);
    if (outcome_of(window.error().code) != kWaived) return tl::unexpected(window.error());
    if (tell)
      context.reporter.note("info",
                            "unaligned cuMemAlloc memory: waived: " + window.error().message);
    return {};
  }

  // A pinned and mapped window over memory of this kernel.
  Result<std::unique_ptr<Window>> open_adopted(cu::DevicePtr memory, std::size_t bytes) {
    auto window = RG_TRY(setup_.backend().adopt(setup_.gpu(), memory, bytes));
    RG_TRY_OK(window->pin());
    RG_TRY_OK(window->map());
    return window;
  }

  // Adds the note about managed memory. Fails when a backend maps it: its pages move, so the
  // mapping would show wrong bytes later.
  Status tell_of_managed_memory(Context& context) {
    const Cuda& cuda = loaded_cuda();
    std::string reason = "the driver has none on this GPU";
    cu::DevicePtr raw = 0;
    if (RG_TRY(setup_.gpu().attribute(cu::kManagedMemory)) != 0) {
      RG_TRY_OK(gpu_status(setup_.gpu(),
                           cuda.mem_alloc_managed(&raw, GpuBuffer::kPageBytes, cu::kAttachGlobal),
                           "allocate managed memory"));
      const Memory managed(raw);
      const auto window = open_adopted(raw, GpuBuffer::kPageBytes);
      if (window)
        return fail(Code::kInternal,
                    fmt::format("{}: managed memory was mapped by {}, although its pages move",
                                setup_.gpu().name(), setup_.backend().name()));
      if (outcome_of(window.error().code) != kWaived) return tl::unexpected(window.error());
      reason = window.error().message;
    }
    context.reporter.note("info", "managed memory: waived: " + reason);
    return {};
  }

  std::span<const Routine> known_;
  Setup setup_;
  std::optional<gpu::Pattern> pattern_;  // goes before the setup that has its GPU
  // Source and target of the CPU's copies, and the buffer for the copies of the GPU's side.
  HostBuffer host_;
  HostBuffer seen_;
};

// The declaration. `iterations` counts passes here, not samples.
KernelInfo info() {
  InfoBuilder builder("bar.sanity", 1,
                      "whether CPU reads and writes through the PCIe BAR carry every byte, and no "
                      "other");
  builder.endpoint("gpu")
      .metrics({"check_ns"})
      .integer("iterations", "passes over all checks", 1, 1, 1000);
  add_bar_parameters(builder);
  return builder.build();
}

}  // namespace

std::unique_ptr<Kernel> make_sanity_kernel(std::span<const Routine> known) {
  return std::make_unique<Sanity>(known);
}

}  // namespace railgauge::bar

namespace railgauge {
extern const KernelRow kBarSanity{bar::info,
                                  [] { return bar::make_sanity_kernel(bar::routines()); }};
}  // namespace railgauge
