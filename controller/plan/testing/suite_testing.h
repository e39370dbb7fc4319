// Helpers that tests of the suite reader share.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "controller/plan/suite/suite.h"
#include "controller/plan/suite/suite_folder.h"
#include "controller/plan/testing/plan_testing.h"

namespace railgauge::plan {

inline SuiteReading read(std::string_view text) {
  return read_suite(text, "x.yaml", fake_kernels());
}

// Reads a suite's file. An unreadable file counts as an empty text, which is no suite.
inline SuiteReading read_suite_file(const std::string& path, std::span<const KernelInfo> kernels) {
  return read_suite(read_whole_file(path, kMaxSuiteBytes).value_or(""), path, kernels);
}

// Returns the only problem of a text, with its place; fails the test when there are more or none.
inline std::string problem_of(std::string_view text) {
  const SuiteReading reading = read(text);
  EXPECT_FALSE(reading.suite);
  std::string all;
  for (const SuiteProblem& problem : reading.problems) all += describe(problem) + ";";
  EXPECT_EQ(reading.problems.size(), 1u) << all;
  EXPECT_EQ(all.find('\n'), std::string::npos);
  return all;
}

// A suite of one stage.
inline std::string local(std::string_view kernel, std::string_view placement) {
  return fmt::format(
      "version: 1\nmetadata: {{name: x}}\nstages:\n  - {{kernel: {}, placement: {{{}}}}}\n", kernel,
      placement);
}

}  // namespace railgauge::plan
