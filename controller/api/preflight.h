// Conclusions from preflight's results, for both programs that show them: exit code, worst state,
// the GPUDirect lines. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "controller/api/agent.pb.h"

namespace railgauge::api {

// The worst state of the checks of `node`; "unknown" without checks.
std::string_view worst_check_state(const PreflightReport& report, std::string_view node);

struct PreflightDemand {
  std::vector<std::string> require{};  // ids whose `unknown` counts
  bool strict = false;                 // every `unknown` counts
};
// 1 when a check failed; 4 when one had an error, a node gave no answer, a required check is
// missing on a node, or there is no node; 3 when an `unknown` counts; else 0.
int preflight_exit_code(const PreflightReport& report, const PreflightDemand& demand);

// "GPUDirect: yes, by dma-buf", "GPUDirect: no, because ..., do ..." or "GPUDirect: not proven,
// ...".
std::string gpudirect_text(const GpuDirectPair& pair);

// "31 pass, 2 warn, 1 unknown": states that occur, the worst first.
std::string state_counts_text(const PreflightReport& report, std::string_view node);

// The steps for an operator, a block for each distinct remedy: which check, where, why, then its
// lines. For `fail`, `error` and `warn`; for every state with `all_states`. "" when there is
// nothing to do.
std::string remedies_text(const PreflightReport& report, bool all_states = false);

// `from`'s nodes, checks and pairs behind those of `to`.
void append_report(const PreflightReport& from, PreflightReport& to);

}  // namespace railgauge::api
