// The opening that all kernels of the family share, and the family's parameters.
#include "kernels/bar/setup.h"

#include <fmt/format.h>

#include "kernels/bar/routine/trial.h"
#include "kernels/core/text/units.h"

namespace railgauge::bar {
namespace {

// kFailedPrecondition when the GPU lacks the memory. The check is made once and names both figures;
// each backend would report it in its own words.
Status check_free(const gpu::Gpu& gpu, std::size_t bytes) {
  const std::uint64_t free = RG_TRY(gpu.free_bytes());
  if (bytes <= free) return {};
  return fail(
      Code::kFailedPrecondition,
      fmt::format("{}: map {} for the CPU: {} of its memory are free; end what else uses it "
                  "or ask for smaller sizes",
                  gpu.name(), canonical_bytes(bytes), canonical_bytes(free)));
}

// The caching that `mapping` asks for; kUnknown for its default.
Caching caching_asked(const std::string& word) {
  if (word == "write_combined") return Caching::kWriteCombined;
  if (word == "cached") return Caching::kCached;
  return word == "device" ? Caching::kUncached : Caching::kUnknown;
}

// Waives where a backend maps otherwise than it was asked.
Status check_caching(const View& view, Caching asked) {
  if (asked == Caching::kUnknown || view.caching == asked) return {};
  return fail(Code::kFailedPrecondition,
              fmt::format("its mapping is {}, and {} was asked for; gdrdrv can be asked where the "
                          "machine has it",
                          caching_in_words(view.caching), caching_in_words(asked)));
}

}  // namespace

// `backend` and `routine` are part of a series' identity: another path is another figure.
namespace {
// Both change what the CPU's loads and stores cost, so each is a series of its own.
void add_ways(InfoBuilder& builder) {
  builder
      .choice("backend", "", "what maps GPU memory for the CPU; auto takes the first that works",
              {"auto", "gdrdrv", "dmabuf", "coherent", "vulkan"})
      .identity();
  const auto names = routine_names();
  builder
      .choice("routine", "",
              "what the CPU copies with; auto takes the fastest on this machine, or the first of " +
                  auto_order() +
                  " that is at most 3 % slower; gdrapi are GDRCopy's own copies, which need gdrdrv",
              {names.begin(), names.end()})
      .identity();
  builder
      .choice("mapping", "",
              "how the CPU's side is cached: default as the backend maps; others ask gdrdrv, and "
              "waive where the machine has no such mapping",
              {"default", "write_combined", "cached", "device"})
      .identity()
      .choice("allocation", "",
              "what makes the GPU's memory: alloc, cuMemAlloc; create, cuMemCreate",
              {"alloc", "create"})
      .identity();
}
}  // namespace

void add_bar_parameters(InfoBuilder& builder) {
  add_ways(builder);
  gpu::add_still_session_parameters(builder);
}

void add_shared_bar_parameters(InfoBuilder& builder) {
  add_ways(builder);
  gpu::add_shared_session_parameters(builder);
}

// The order matters: the GPU's facts come first, then the routine, which the proof of the mapping
// uses.
Result<Setup> Setup::open(Context& context, std::size_t bytes, std::span<const Routine> known) {
  Setup setup;
  setup.session_ = RG_TRY(gpu::Session::open(context));
  const gpu::Gpu& gpu = setup.gpu();
  const std::string& routine = context.params.text("routine");
  const bool by_library = routine == kLibraryRoutine;
  setup.copier_ = RG_TRY(choose_copier(known, by_library ? "auto" : routine));
  RG_TRY_OK(check_free(gpu, bytes));
  setup.backends_ = make_backends();
  const Caching asked = caching_asked(context.params.text("mapping"));
  const bool creates = context.params.text("allocation") == "create";
  if (creates)
    setup.created_ = RG_TRY(gpu::SharedMemory::create(gpu, bytes, gpu::HandleKind::kNone));
  Backend* tried = nullptr;
  const std::string& wanted = context.params.text("backend");
  auto path = choose_path(
      setup.backends_, by_library && wanted == "auto" ? "gdrdrv" : wanted,
      [&](Backend& backend) {
        tried = &backend;
        backend.ask_caching(asked);
        return creates ? backend.adopt(gpu, setup.created_.data(), bytes)
                       : backend.make(gpu, bytes);
      },
      [&](const View& view) -> Status {
        RG_TRY_OK(check_caching(view, asked));
        return prove_view(gpu, view, setup.copier_, tried->name());
      });
  if (!path)
    return fail(path.error().code, fmt::format("{}: map GPU memory for the CPU: {}", gpu.name(),
                                               path.error().message));
  setup.path_ = std::move(*path);
  setup.view_ = setup.path_.window->view();
  if (routine == "auto") RG_TRY_OK(setup.take_fastest(context, known));
  if (by_library) RG_TRY_OK(setup.take_library());
  context.reporter.fact("copy_routine", setup.copier_.name());
  context.reporter.fact("path", std::string(setup.backend().name()));
  context.reporter.fact("memory", "gpu, by the CPU");
  if (creates) context.reporter.fact("allocation", "cuMemCreate");
  context.reporter.fact("path_caching", std::string(caching_in_words(setup.view_.caching)));
  if (const std::string library = setup.backend().library(); !library.empty())
    context.reporter.fact("path_library", library);
  if (!setup.path_.refused.empty()) context.reporter.fact("path_refused", setup.path_.refused);
  if (setup.path_.alarming)
    context.reporter.note("warning", "a path that is here was refused: " + setup.path_.refused);
  return setup;
}

Status Setup::take_library() {
  const auto own = path_.window->own_copies();
  if (!own)
    return fail(own.error().code, "{}: copy routine {}: {}: {}", gpu().name(), kLibraryRoutine,
                backend().name(), own.error().message);
  own_ =
      std::make_unique<const Routine>(Routine{kLibraryRoutine.data(), true, own->write, own->read});
  copier_ = {own_.get(), own_.get()};
  return prove_view(gpu(), view_, copier_, backend().name());
}

// The chosen routines prove the mapping too, where others did it first.
Status Setup::take_fastest(Context& context, std::span<const Routine> known) {
  const RoutineTrial trial = RG_TRY(try_routines(view_, known, copier_, tick_clock(context)));
  if (!trial.writers.empty()) context.reporter.fact("write_routines_tried", trial.writers);
  if (!trial.readers.empty()) context.reporter.fact("read_routines_tried", trial.readers);
  const bool is_other =
      trial.copier.writer != copier_.writer || trial.copier.reader != copier_.reader;
  copier_ = trial.copier;
  if (!is_other) return {};
  return prove_view(gpu(), view_, copier_, backend().name());
}

// Names the path that failed and the path that was taken.
Status Setup::check_earlier_paths() const {
  if (path_.corrupt) return {};
  return fail(path_.corrupt.error().code,
              fmt::format("{}: {}; {} carries the same bytes right", gpu().name(),
                          path_.corrupt.error().message, backend().name()));
}

// Memory of cuMemCreate is made once; windows adopt it, so its cost is in none of their times.
Result<std::unique_ptr<Window>> Setup::make_window(std::size_t bytes) const {
  if (created_.size() == 0) return backend().make(gpu(), bytes);
  return backend().adopt(gpu(), created_.data(), bytes);
}

Point Setup::make_point(const PointNames& names, std::uint64_t message_bytes,
                        const Sampled& sampled, bool raw_samples) const {
  return railgauge::make_point(names, message_bytes, sampled, raw_samples, backend().synthetic());
}

}  // namespace railgauge::bar
