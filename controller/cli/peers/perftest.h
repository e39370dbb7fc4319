// Which command lines of perftest measure what a task of ours measured.
#pragma once

#include <string>
#include <vector>

#include "controller/api/control.pb.h"
#include "kernels/core/base/result.h"

namespace railgauge::cli {

struct PeerLine {
  std::uint32_t rank = 0;
  std::string node{};
  std::string command{};  // ready for a shell
};

// Two lines for each size, the listening side's first, with the devices, GIDs and MTU that the task
// used, where it got that far. kUnimplemented with the reason where perftest has no such test.
// Pure.
Result<std::vector<PeerLine>> perftest_lines(const api::TaskDetail& task);

}  // namespace railgauge::cli
