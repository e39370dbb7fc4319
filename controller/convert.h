// Rows, plans and nodes as messages of control.proto. Pure.
#pragma once

#include <string>

#include "controller/api/control.pb.h"
#include "controller/fleet/fleet.h"
#include "controller/plan/planner.h"
#include "controller/store/rows.h"

namespace railgauge {

std::string endpoint_text(const std::string& node, const std::string& endpoint);  // "n1/rxe0:1"

plan::PlanNode plan_node_of(const fleet::NodeState& node);
api::NodeInfo to_api(const fleet::NodeState& node);  // without facts and stack
api::NodeInfo to_api(const store::NodeRow& row);     // as the store knows it
api::RunPlan to_api(const plan::Plan& plan);
api::RunSummary to_api(const store::RunSummaryRow& row);
api::TaskDetail to_api(const store::TaskDetailRow& row);
api::ResultPoint to_api(store::ResultRow row);

// The rows that a planned run starts with.
std::vector<store::TaskRow> task_rows(const plan::Plan& plan,
                                      const std::map<std::string, std::string>& node_ids);

}  // namespace railgauge
