// Parameters that several kernels of the family share, and the words of their points.
#pragma once

#include <string_view>

#include "kernels/core/info_builder.h"

namespace railgauge::cuda {

inline constexpr std::string_view kBandwidthMetric = "bandwidth_bytes_per_second";
inline constexpr std::string_view kLatencyMetric = "latency_ns";

void add_engine(InfoBuilder& builder);
// The same with sm_again, of kernels that copy between the host and GPUs.
void add_host_engine(InfoBuilder& builder);
void add_host_memory(InfoBuilder& builder);
void add_bidirectional(InfoBuilder& builder);
// `sizes`, `copies` and InfoBuilder::sampling() as all copy bandwidths have them.
void add_copy_sampling(InfoBuilder& builder);
// `buffer`, `order`, `accesses` and sampling of the pointer chases.
void add_chase(InfoBuilder& builder);

}  // namespace railgauge::cuda
