// Preflight reports of synthetic nodes that are trees of files.
#pragma once

#include <set>
#include <string>

#include "agent/preflight/report.h"
#include "controller/api/preflight.h"

namespace railgauge::agent {

inline api::PreflightReport report_on(const Inventory& node, std::set<std::string> required = {}) {
  return make_preflight_report(
      "node", {.node = node, .required = std::move(required), .now_unix_seconds = 1.7e9}, 0);
}

// Returns the worst state of one check's results.
inline std::string state_of(const api::PreflightReport& report, const std::string& id) {
  api::PreflightReport one;
  for (const api::PreflightCheck& check : report.checks())
    if (check.id() == id) *one.add_checks() = check;
  return std::string(api::worst_check_state(one, report.nodes(0).node()));
}

}  // namespace railgauge::agent
