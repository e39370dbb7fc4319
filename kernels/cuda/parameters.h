// Parameters that kernels of the family share, and the words of their points.
#pragma once

#include <string_view>

#include "kernels/core/info_builder.h"

namespace railgauge::cuda {

// Names of metrics; the wire and the database contain them.
inline constexpr std::string_view kBandwidthMetric = "bandwidth_bytes_per_second";
inline constexpr std::string_view kLatencyMetric = "latency_ns";

// Declares `engine`: copy engines or threads.
void add_engine(InfoBuilder& builder);
// Declares `engine` with sm_again too, for kernels that copy between the host and GPUs.
void add_host_engine(InfoBuilder& builder);
// Declares `host_memory`: the words of host_memory_of() in route/area.h.
void add_host_memory(InfoBuilder& builder);
// Declares `bidirectional`: a load in the opposite direction.
void add_bidirectional(InfoBuilder& builder);
// Declares `sizes`, `copies` and InfoBuilder::sampling(), equal for all copy bandwidths.
void add_copy_sampling(InfoBuilder& builder);
// Declares `buffer`, `order`, `accesses` and the sampling of the pointer chases.
void add_chase(InfoBuilder& builder);

}  // namespace railgauge::cuda
