// Names and figures of the large site (large_site.h). Every figure is made up.
#pragma once

#include <string>

#include "controller/api/archive.pb.h"
#include "controller/api/control.pb.h"

namespace railgauge::cli {

inline constexpr int kLargeNodes = 512;
inline constexpr int kLargeRails = 8;
inline constexpr int kDeadNode = 77;  // its agent is lost

std::string large_node(int number);          // from 1: "gpu017"
std::string large_port(int node, int rail);  // "gpu017/mlx5_3:1"
bool is_paused_node(int node);               // 5 of them
bool is_upgraded_node(int node);             // 16 of them, which lost 8 % of what they send

// A rate and a latency of each port that was measured, about 8,000 points.
api::ResultList large_results();
api::SeriesList large_series(const api::ResultList& results);
api::Comparison large_comparison(const api::ResultList& results);
api::History large_history(const api::Series& series);
api::RunDetail large_detail();
api::RunPlan large_plan();
KernelList large_kernels();
api::Space large_space();

}  // namespace railgauge::cli
