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
// The series of the first 1,000 of these points.
api::SeriesList large_series(const api::ResultList& results);
// Each point against the usual figure of its kernel.
api::Comparison large_comparison(const api::ResultList& results);
// 500 points of one series; every 40th failed.
api::History large_history(const api::Series& series);
// A task of each port that was measured, with its first rank.
api::RunDetail large_detail();
// 12 stages, 80 rounds and 2,000 tasks.
api::RunPlan large_plan();
// 80 kernels, the first with 40 parameters.
KernelList large_kernels();
// A database of 90 tables and indexes.
api::Space large_space();

}  // namespace railgauge::cli
