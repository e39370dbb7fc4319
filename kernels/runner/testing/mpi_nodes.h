// Helpers for tests of MPI tasks between nodes: the MPI under test (RAILGAUGE_TEST_MPI), waits, and
// the expected end of all ranks. For tests only.
#pragma once

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/core/base/clock.h"
#include "kernels/runner/testing/nodes.h"

namespace railgauge::testing_nodes {

inline const std::string kMpi = RAILGAUGE_TEST_MPI;
inline const std::string kLauncherVariable =
    kMpi == "mpich" ? "RAILGAUGE_LAUNCHER_MPICH=" : "RAILGAUGE_LAUNCHER_OPENMPI=";

inline bool wait_until(const std::function<bool()>& met) {
  const double deadline_ns = monotonic_now_ns() + testing_process::kPatienceSeconds * 1e9;
  while (!met()) {
    if (monotonic_now_ns() > deadline_ns) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

// Expects `outcome` on every rank, with `reason` in its text, and no process left on any node.
inline void expect_all_ended(const Folder& folder, const std::vector<Rank>& ranks,
                             const std::string& outcome, const std::string& reason = "") {
  for (const Rank& rank : ranks) {
    EXPECT_EQ(rank.final().outcome(), outcome) << story(ranks).substr(0, 2000);
    EXPECT_THAT(rank.final().reason(), ::testing::HasSubstr(reason));
    EXPECT_LT(rank.final().reason().size(), 2000U);
  }
  EXPECT_EQ(folder.processes(), 0U);
}

}  // namespace railgauge::testing_nodes
