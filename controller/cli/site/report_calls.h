// The calls that a report is made of, for whoever makes calls in a way of its own.
#pragma once

#include <cstdint>
#include <string>

#include "controller/cli/input/session.h"
#include "controller/report/gather.h"
#include "controller/report/proposal.h"

namespace railgauge::cli {

// A source without its `matrix`, of the nodes of `node_set`, "" being all. `ask(rpc, request)`
// makes one call and returns its Result; it outlives the source.
template <class Ask>
report::Source report_source(Ask ask, const std::string& node_set) {
  return {
      .nodes =
          [ask, node_set] {
            return ask(rpc::kListNodes, request_for<api::ListNodesRequest>(node_set));
          },
      .runs =
          [ask](std::uint32_t limit) {
            api::ListRunsRequest request;
            request.set_limit(limit);
            return ask(rpc::kListRuns, request);
          },
      .groups =
          [ask](const std::string& run_id) {
            return ask(rpc::kGetTaskGroups, request_for<api::TaskGroupsRequest>(run_id));
          },
      .suspects =
          [ask](const std::string& run_id) {
            return ask(rpc::kGetSuspects, request_for<api::PairsRequest>(run_id));
          },
      .findings =
          [ask, node_set](const std::string& state, std::uint32_t limit) {
            auto request = request_for<api::ListFindingsRequest>(state);
            request.set_node_set(node_set);
            request.set_limit(limit);
            return ask(rpc::kListFindings, request);
          },
      .finding =
          [ask](const std::string& id) {
            return ask(rpc::kGetFinding, request_for<api::FindingRef>(id));
          },
      .upgrades =
          [ask](std::uint32_t limit) {
            api::ListUpgradesRequest request;
            request.set_limit(limit);
            return ask(rpc::kListUpgrades, request);
          },
      .upgrade =
          [ask](const std::string& id) {
            return ask(rpc::kGetUpgrade, request_for<api::UpgradeRef>(id));
          },
      .schedules =
          [ask](const std::string& name) {
            return ask(rpc::kListSchedules, request_for<api::ListSchedulesRequest>(name));
          },
      .events =
          [ask, node_set](double since, std::uint32_t limit) {
            api::EventsRequest request;
            request.set_node_set(node_set);
            request.set_since_unix_seconds(since);
            request.set_limit(limit);
            return ask(rpc::kListEvents, request);
          },
      .proposals =
          [ask](std::uint32_t limit) {
            api::EventsRequest request;
            request.set_kinds(std::string(report::kProposedKind));
            request.set_limit(limit);
            return ask(rpc::kListEvents, request);
          },
  };
}

}  // namespace railgauge::cli
