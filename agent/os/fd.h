// A file descriptor with one owner.
#pragma once

#include <cerrno>

#include <unistd.h>

#include "kernels/core/handle.h"
#include "kernels/core/result.h"

namespace railgauge::agent {

struct FdTraits {
  using Type = int;
  static Type empty() { return -1; }
  static void release(Type fd) { RG_CHECK(::close(fd) == 0 || errno != EBADF); }
};
using Fd = Handle<FdTraits>;

}  // namespace railgauge::agent
