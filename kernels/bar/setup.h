// The common opening of every kernel of the family: the GPU, a verified mapping of its memory, the
// copy routine, and their parameters.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/bar/path.h"
#include "kernels/core/info_builder.h"
#include "kernels/core/sampling.h"
#include "kernels/gpu/session/session.h"
#include "kernels/gpu/shared_memory.h"

namespace railgauge::bar {

// Declares `backend`, `routine`, `mapping`, `allocation`, and the session's parameters.
void add_bar_parameters(InfoBuilder& builder);
// The same for a kernel whose ranks share a GPU, which is therefore always in use.
void add_shared_bar_parameters(InfoBuilder& builder);

// Owns the session, the mapping and the chosen routine. Movable. Not thread safe: use on the
// kernel's thread.
class Setup {
 public:
  // Opens the context's endpoint and maps at least `bytes` of its memory. Adds the facts path,
  // path_caching, path_library, path_refused (when another path was tried first), copy_routine and
  // what the other routines reached (write_routines_tried, read_routines_tried). Waives when no
  // backend works here. The CPU copies with one of `known`, which outlives the setup, or
  // for `gdrapi` with the library's, on this thread.
  static Result<Setup> open(Context& context, std::size_t bytes,
                            std::span<const Routine> known = routines());

  // The parts, valid while the setup lives.
  [[nodiscard]] gpu::Session& session() { return session_; }
  [[nodiscard]] const gpu::Gpu& gpu() const { return session_.gpu(); }
  [[nodiscard]] const View& view() const { return view_; }
  [[nodiscard]] const Copier& copier() const { return copier_; }
  [[nodiscard]] Backend& backend() const { return *path_.backend; }
  // Makes one more window on the same path, over memory of the same kind; at most the bytes of
  // open() where that is cuMemCreate's.
  [[nodiscard]] Result<std::unique_ptr<Window>> make_window(std::size_t bytes) const;
  // Returns kDataLoss, with the path's own error, when a path tried before the chosen one exists
  // but had wrong bytes. The chosen path is verified, but the machine as a whole is not.
  [[nodiscard]] Status check_earlier_paths() const;

  // Makes a point with the statistics of one size, ready for session().report().
  [[nodiscard]] Point make_point(const PointNames& names, std::uint64_t message_bytes,
                                 const Sampled& sampled, bool raw_samples) const;

 private:
  // Takes the copies of the library that mapped the window, which then prove the mapping too.
  [[nodiscard]] Status take_library();
  // Tries the routines of `known` on the mapping and takes the fastest.
  [[nodiscard]] Status take_fastest(Context& context, std::span<const Routine> known);

  // Members are released in reverse: the mapping before the backends and the session.
  gpu::Session session_;
  gpu::SharedMemory created_;  // of cuMemCreate, where it was asked for
  std::vector<std::unique_ptr<Backend>> backends_;
  Path path_;
  View view_;
  std::unique_ptr<const Routine> own_;  // the library's, where the copier has it
  Copier copier_;
};

}  // namespace railgauge::bar
