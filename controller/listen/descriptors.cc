#include "controller/listen/descriptors.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

namespace railgauge {

DescriptorBudget descriptor_budget(rlim_t limit) {
  constexpr int kLeastReserve = 16;
  constexpr int kMostReserve = 256;
  constexpr int kReserveShare = 4;
  constexpr int kCrowdedShare = 8;
  DescriptorBudget budget;
  budget.limit = static_cast<int>(
      std::min(limit, static_cast<rlim_t>(std::numeric_limits<int>::max())));  // RLIM_INFINITY too
  budget.tcp_end = std::max(
      0, budget.limit - std::clamp(budget.limit / kReserveShare, kLeastReserve, kMostReserve));
  budget.tcp_crowded = budget.tcp_end - budget.tcp_end / kCrowdedShare;
  return budget;
}

DescriptorBudget descriptor_budget() {
  rlimit limit{};
  RG_CHECK(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
  return descriptor_budget(limit.rlim_cur);
}

Status raise_descriptor_limit() {
  rlimit limit{};
  RG_CHECK(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
  if (limit.rlim_cur == limit.rlim_max) return {};
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &limit) == 0) return {};
  return fail(Code::kPermissionDenied, "limit of open files: raise to {}: {}", limit.rlim_max,
              std::strerror(errno));
}

}  // namespace railgauge
