// Fd: the one owner of a file descriptor. Movable, not copyable, closed by its destructor.
#pragma once

#include <unistd.h>

#include <cerrno>

#include "kernels/core/base/handle.h"
#include "kernels/core/base/result.h"

namespace railgauge {

struct FdTraits {
  using Type = int;
  static Type empty() { return -1; }
  // Linux has closed the descriptor even when close returns EINTR or EIO. Only EBADF, a number that
  // was never ours, is a programmer error.
  static void release(Type fd) { RG_CHECK(::close(fd) == 0 || errno != EBADF); }
};
using Fd = Handle<FdTraits>;

}  // namespace railgauge
