// The choice among the backends: in their order, the first whose memory holds the same bytes seen
// from both sides.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "kernels/bar/backend/backend.h"
#include "kernels/bar/copy_routines.h"

namespace railgauge::bar {

// A backend with a window that is pinned, mapped and proved. The window refers to the backend,
// which the caller owns.
struct Path {
  Backend* backend = nullptr;
  std::unique_ptr<Window> window;
  // Why each earlier backend was not taken, in one line; "" when none was refused.
  std::string refused;
  // An earlier backend was refused for wrong bytes or an error, not because it is absent.
  bool alarming = false;
  // kDataLoss when an earlier backend is here and its bytes are wrong; the message says which.
  Status corrupt{};
};

// Makes a backend's window, neither pinned nor mapped.
using MakeWindow = std::function<Result<std::unique_ptr<Window>>(Backend&)>;
// Whether what one side writes is what the other reads.
using Prove = std::function<Status(const View&)>;

// `wanted` is "auto" or a backend's name, then no other is tried. Fails with the reason of every
// backend in one line: kDataLoss when one gave wrong bytes, else a waiver unless an error was none.
Result<Path> choose_path(std::span<const std::unique_ptr<Backend>> backends,
                         std::string_view wanted, const MakeWindow& make, const Prove& prove);

// Proves the path: seeded patterns at the beginning and the end of `view`, written by the CPU and
// read back by cuMemcpy, and the reverse. kDataLoss when a byte differs. `name` appears in the
// message.
Status prove_view(const gpu::Gpu& gpu, const View& view, const Copier& copier,
                  std::string_view name);

}  // namespace railgauge::bar
