// Each family's sampling as its kernel declares it, for claims about intervals: the defaults come
// from the catalog, the time of a sample and the batch from the kernel's own constants.
#pragma once

#include <string>
#include <vector>

#include "kernels/catalog.h"
#include "kernels/core/params.h"
#include "kernels/core/sampling.h"
#include "kernels/core/testing/coverage.h"

namespace railgauge {

// Returns the default sampling of `kernel`, whose samples last `sample_ns` and come in batches of
// `batch` (0: the sampler's own), at least `least_batch`.
inline SampledFamily family_of(const std::string& kernel, double sample_ns, std::uint64_t batch,
                               std::uint64_t least_batch, std::uint64_t min_samples_before) {
  const KernelRow* row = find_kernel(kernel);
  RG_CHECK(row != nullptr);
  const KernelInfo info = row->info();
  const auto params = Params::parse(info, {});
  RG_CHECK(params);
  auto options = sampler_options(*params);
  RG_CHECK(options);
  if (batch != 0) options->batch = batch;
  options->least_batch = least_batch;
  const bool is_rate = info.metrics(0).find("latency") == std::string::npos;
  return {.name = kernel,
          .options = *options,
          .sample_ns = sample_ns,
          .is_rate = is_rate,
          .min_samples_before = min_samples_before};
}

// NCCL's samples are the times of single calls, each of one amount.
inline SampledFamily nccl_family(const std::string& size, double sample_ns) {
  SampledFamily family = family_of("nccl.all_reduce", sample_ns, 20, 1, 40);
  family.name += " " + size;
  family.options.rate = SamplerOptions::Rate::kOfTimes;
  family.is_rate = false;
  return family;
}

// Kernels that report rates: windows of 1 ms (verbs), 10 ms (TCP), copies of 8 ms (CUDA), single
// copies of a BAR, calls of NCCL of 100 us (some MiB) and 3 ms (1 GiB), windows of an MPI.
inline std::vector<SampledFamily> rate_families() {
  return {family_of("verbs.write_bw", 1e6, 10, 1, 30),
          family_of("net.tcp_bw", 10e6, 5, 1, 30),
          family_of("cuda.host_copy_bw", 8e6, 32, 4, 8),
          family_of("bar.write_bw", 50e3, 0, 1, 100),
          nccl_family("100 us", 100e3),
          nccl_family("3 ms", 3e6),
          family_of("mpi.bw", 200e3, 0, 1, 30)};
}

// Kernels that report times.
inline std::vector<SampledFamily> latency_families() {
  return {family_of("verbs.write_lat", 2e3, 0, 1, 1000),
          family_of("net.tcp_lat", 20e3, 0, 1, 1000),
          family_of("cuda.copy_latency", 10e3, 0, 1, 1000),
          family_of("cuda.host_latency", 1e6, 11, 11, 11),
          family_of("bar.write_lat", 500, 0, 1, 1000),
          family_of("mpi.all_reduce", 100e3, 0, 1, 200)};
}

}  // namespace railgauge
