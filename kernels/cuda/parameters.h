// Parameters that several kernels of the family share, and the words of their points.
#pragma once

#include <string_view>

#include "kernels/core/info_builder.h"

namespace railgauge::cuda {

// Names of metrics; wire and database content.
inline constexpr std::string_view kBandwidthMetric = "bandwidth_bytes_per_second";
inline constexpr std::string_view kLatencyMetric = "latency_ns";

// `engine`: copy engines or threads.
void add_engine(InfoBuilder& builder);
// The same with sm_again, of kernels that copy between the host and GPUs.
void add_host_engine(InfoBuilder& builder);
// `host_memory`: the words of host_memory_of() in route/area.h.
void add_host_memory(InfoBuilder& builder);
// `bidirectional`: a load the other way.
void add_bidirectional(InfoBuilder& builder);
// `sizes`, `copies` and InfoBuilder::sampling(), the same for all copy bandwidths.
void add_copy_sampling(InfoBuilder& builder);
// `buffer`, `order`, `accesses` and the sampling of the pointer chases.
void add_chase(InfoBuilder& builder);

}  // namespace railgauge::cuda
