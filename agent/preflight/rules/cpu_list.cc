#include "agent/preflight/rules/cpu_list.h"

#include <algorithm>
#include <charconv>

namespace railgauge::agent {

std::set<unsigned> processors_of(std::string_view list) {
  std::set<unsigned> processors;
  const char* at = list.data();
  const char* const end = at + list.size();
  while (at != end) {
    unsigned first = 0;
    const auto begin = std::from_chars(at, end, first);
    if (begin.ec != std::errc{}) {
      ++at;
      continue;
    }
    unsigned last = first;
    at = begin.ptr;
    if (at != end && *at == '-') {
      const auto range = std::from_chars(at + 1, end, last);
      if (range.ec == std::errc{}) at = range.ptr;
    }
    for (unsigned one = first; one <= std::min(last, kMaxProcessor); ++one) processors.insert(one);
  }
  return processors;
}

bool lists_meet(std::string_view a, std::string_view b) {
  const std::set<unsigned> of_b = processors_of(b);
  return std::ranges::any_of(processors_of(a), [&](unsigned one) { return of_b.contains(one); });
}

}  // namespace railgauge::agent
