// A file descriptor and its one owner.
#pragma once

#include <unistd.h>

#include <cerrno>

#include "kernels/core/base/handle.h"
#include "kernels/core/base/result.h"

namespace railgauge {

struct FdTraits {
  using Type = int;
  static Type empty() { return -1; }
  // Linux has closed it even when close says EINTR or EIO; only a stranger's number is an error.
  static void release(Type fd) { RG_CHECK(::close(fd) == 0 || errno != EBADF); }
};
using Fd = Handle<FdTraits>;

}  // namespace railgauge
