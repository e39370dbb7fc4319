// Runs one task of one rank inside the test.
#pragma once

#include <map>
#include <string>

#include "kernels/fakes/pair.h"

namespace railgauge::fake {

struct SoloOptions {
  std::map<std::string, std::string> parameters{};
  std::string endpoint = "gpu0";
  double deadline_seconds = 20;
  bool raw_samples = false;
};

// Runs the rank through prepare, connect and measure, and destroys the kernel. CHECKs that the
// parameters parse.
RankResult run_solo(const KernelRow& row, const SoloOptions& options);

// Returns the parameters of `wanted` that the kernel declares.
std::map<std::string, std::string> declared_among(const KernelInfo& kernel,
                                                  const std::map<std::string, std::string>& wanted);

}  // namespace railgauge::fake
