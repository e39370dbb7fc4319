// Limits locked memory during a test and drops CAP_IPC_LOCK, which would lift the limit, for this
// thread and the threads that it starts.
#pragma once

#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

namespace railgauge::fake {

class LockedMemoryLimit {
 public:
  explicit LockedMemoryLimit(rlim_t bytes) {
    getrlimit(RLIMIT_MEMLOCK, &before_);
    const rlimit small{bytes, before_.rlim_max};
    setrlimit(RLIMIT_MEMLOCK, &small);
    syscall(SYS_capget, &header_, capabilities_.data());
    auto fewer = capabilities_;
    fewer[0].effective &= ~(1U << CAP_IPC_LOCK);
    syscall(SYS_capset, &header_, fewer.data());
  }
  ~LockedMemoryLimit() {
    syscall(SYS_capset, &header_, capabilities_.data());
    setrlimit(RLIMIT_MEMLOCK, &before_);
  }
  LockedMemoryLimit(const LockedMemoryLimit&) = delete;
  LockedMemoryLimit& operator=(const LockedMemoryLimit&) = delete;

  // Restores the process's capabilities. Returns false when it never had CAP_IPC_LOCK.
  [[nodiscard]] bool lift() {
    syscall(SYS_capset, &header_, capabilities_.data());
    return (capabilities_[0].effective >> CAP_IPC_LOCK & 1U) != 0;
  }

 private:
  rlimit before_{};
  __user_cap_header_struct header_{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> capabilities_{};
};

}  // namespace railgauge::fake
