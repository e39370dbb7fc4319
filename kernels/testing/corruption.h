// One line on stdout for each fake that a corruption test ran, for the table of deploy: what a
// kernel says when one message of so many is not what was sent.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "kernels/core/base/outcome.h"
#include "kernels/core/base/result.h"

namespace railgauge {

// "corruption", kernel, fault ("none", "corrupt", ...), every how many messages, outcome and proved
// messages, separated by tabs. Test runners prefix lines, but never split them.
inline void print_corruption(const std::string& kernel, const std::string& fault,
                             std::uint64_t every, const std::string& outcome,
                             const std::string& proved) {
  std::printf("corruption\t%s\t%s\t%llu\t%s\t%s\n", kernel.c_str(), fault.c_str(),
              static_cast<unsigned long long>(every), outcome.c_str(), proved.c_str());
  std::fflush(stdout);
}

// The word of a rank's outcome.
inline std::string outcome_word(const Status& status) {
  return status ? "passed" : std::string(outcome_of(status.error().code));
}

}  // namespace railgauge
