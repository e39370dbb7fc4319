// Summaries of preflight's results, for both programs that show them: exit code, worst state, and
// the GPUDirect lines. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "controller/api/agent.pb.h"

namespace railgauge::api {

// Returns the worst state of the checks of `node`; an unknown word counts as "fail". "unknown"
// without checks.
std::string_view worst_check_state(const PreflightReport& report, std::string_view node);

struct PreflightDemand {
  std::vector<std::string> require{};  // ids whose `unknown` counts
  bool strict = false;                 // every `unknown` counts
};
// Returns the exit code: 1 when a check failed; 4 when a check had an error, a node gave no answer,
// a required check is missing on a node, or there is no node; 3 when an `unknown` counts; else 0.
int preflight_exit_code(const PreflightReport& report, const PreflightDemand& demand);

// Returns "GPUDirect: yes, by dma-buf", "GPUDirect: no, because ..., do ..." or "GPUDirect: not
// proven, ...".
std::string gpudirect_text(const GpuDirectPair& pair);

// Returns the numbers of checks by state, the worst state first: "1 unknown, 2 warn, 31 pass", or
// "no checks". States without checks are left out.
std::string state_counts_text(const PreflightReport& report, std::string_view node);

// Returns the steps for an operator, one block for each distinct remedy: check, place, reason, then
// the remedy's lines. Covers `fail`, `error` and `warn`, or every state with `all_states`. "" when
// no step is needed.
std::string remedies_text(const PreflightReport& report, bool all_states = false);

// Appends the nodes, checks and pairs of `from` to `to`.
void append_report(const PreflightReport& from, PreflightReport& to);

}  // namespace railgauge::api
