#include "controller/findings/finding_events.h"

#include <algorithm>
#include <numeric>

namespace railgauge {
namespace {

bool are_one(const FindingPlace& a, const FindingPlace& b) {
  if (a.from > b.until || b.from > a.until) return false;
  return std::ranges::any_of(a.marks,
                             [&](const std::string& mark) { return b.marks.contains(mark); });
}

}  // namespace

std::vector<std::size_t> events_of_findings(std::span<const FindingPlace> findings) {
  std::vector<std::size_t> event(findings.size());
  std::iota(event.begin(), event.end(), std::size_t{0});
  for (std::size_t i = 0; i < findings.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      if (event[i] == event[j] || !are_one(findings[i], findings[j])) continue;
      const auto [kept, gone] = std::minmax(event[i], event[j]);
      std::ranges::replace(event, std::size_t{gone}, std::size_t{kept});
    }
  return event;
}

}  // namespace railgauge
