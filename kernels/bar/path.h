// The choice of the backend: the first, in their order, whose memory shows equal bytes from both
// sides.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "kernels/bar/backend/backend.h"
#include "kernels/bar/routine/copy_routines.h"

namespace railgauge::bar {

// A backend with a pinned, mapped and verified window. The window refers to the backend, which the
// caller owns.
struct Path {
  Backend* backend = nullptr;
  std::unique_ptr<Window> window;
  // The reason why each earlier backend was refused, in one line; "" when none was.
  std::string refused;
  // An earlier backend was refused for wrong bytes or an error, not because it is absent.
  bool alarming = false;
  // kDataLoss, naming the backend, when an earlier backend exists but has wrong bytes.
  Status corrupt{};
};

// Makes a backend's window, neither pinned nor mapped.
using MakeWindow = std::function<Result<std::unique_ptr<Window>>(Backend&)>;
// Verifies that each side reads the bytes that the other wrote.
using Prove = std::function<Status(const View&)>;

// Chooses among all backends for "auto", or tries only the backend named `wanted`. Fails with every
// backend's reason in one line: kDataLoss when one had wrong bytes; else a waiver, unless one error
// was no waiver.
Result<Path> choose_path(std::span<const std::unique_ptr<Backend>> backends,
                         std::string_view wanted, const MakeWindow& make, const Prove& prove);

// Verifies the path with seeded patterns at the beginning and the end of `view`: written by the CPU
// and read back by cuMemcpy, and the reverse. kDataLoss when a byte differs. `name` appears in the
// message.
Status prove_view(const gpu::Gpu& gpu, const View& view, const Copier& copier,
                  std::string_view name);

}  // namespace railgauge::bar
