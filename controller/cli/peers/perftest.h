// Command lines of perftest that measure the same as a task of ours.
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

// Returns two lines for each size, the listening side's first, with the devices, GIDs and MTU of
// the task, if the task came that far. kUnimplemented, with the reason: perftest has no such test.
// Pure.
Result<std::vector<PeerLine>> perftest_lines(const api::TaskDetail& task);

}  // namespace railgauge::cli
