// Fixed answers of a controller for tests. The figures are made up and marked synthetic or
// soft-RoCE where a real controller would mark them.
#pragma once

#include "controller/api/control.pb.h"

namespace railgauge::cli {

inline constexpr const char* kSampleRun = "r-20261120-120000-1";

railgauge::api::NodeList sample_nodes();
railgauge::KernelList sample_kernels();
railgauge::api::SuiteList sample_suites();
railgauge::api::SuiteCheck sample_check();  // with two problems
railgauge::api::RunPlan sample_plan();
railgauge::api::ScheduleList sample_schedules();
railgauge::api::RunSummary sample_run();  // ended, passed
railgauge::api::RunDetail sample_detail();
railgauge::api::ResultList sample_results();
railgauge::api::VersionInfo sample_version();
railgauge::api::Installation sample_installation();  // sound, but for a late backup
railgauge::api::PreflightReport sample_preflight();  // of n1: a failure, an unknown, a pass

}  // namespace railgauge::cli
