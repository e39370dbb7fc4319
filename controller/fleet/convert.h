// Converts rows, plans and nodes to messages of control.proto. Pure.
#pragma once

#include <string>

#include "controller/api/control.pb.h"
#include "controller/fleet/fleet.h"
#include "controller/plan/planner.h"
#include "controller/plan/topology/topology_sources.h"
#include "controller/store/rows/rows.h"

namespace railgauge {

std::string endpoint_text(const std::string& node, const std::string& endpoint);  // "n1/rxe0:1"

// The node as lost, in its last seen state. Data that only a plan of a single node needs (a GPU's
// distances) is absent.
fleet::NodeState state_of(const store::NodeRow& row);

// Whether the node says that it is modelled.
bool is_modelled_node(const api::Hello& hello);
// kFailedPrecondition: the node is of another kind than the database's data; an empty database
// takes real nodes alone.
Status check_data_kind(store::DataKind kind, const api::Hello& hello);

plan::PlanNode plan_node_of(const fleet::NodeState& node);
plan::TopologyNode topology_node_of(const fleet::NodeState& node);
api::NodeInfo to_api(const fleet::NodeState& node);  // without facts and stack
api::NodeInfo to_api(const store::NodeRow& row);     // as the store knows it
// Includes the tasks when one run can dispatch them all.
api::RunPlan to_api(const plan::PlanOutline& outline);
api::RunSummary to_api(const store::RunSummaryRow& row);
api::TaskDetail to_api(const store::TaskDetailRow& row);
api::ResultPoint to_api(store::ResultRow row);

// The row of a task of the plan, or of one that is added to it. `node_ids`: the nodes' ids by name.
store::TaskRow task_row(const plan::Plan& plan, const plan::PlannedTask& task,
                        const std::map<std::string, std::string>& node_ids);

}  // namespace railgauge
