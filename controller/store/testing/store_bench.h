// Helper of the store's benchmarks.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace railgauge::store {

template <class Outcome>
inline void must(const Outcome& outcome) {
  if (outcome) return;
  std::fprintf(stderr, "%s\n", outcome.error().message.c_str());
  std::abort();
}

}  // namespace railgauge::store
