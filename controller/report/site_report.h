// The morning report: one document from what the services answer. Pure: no clock, no store; the
// caller gathers the material.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/api/archive.pb.h"
#include "controller/api/control.pb.h"
#include "controller/api/judge.pb.h"
#include "controller/api/site.pb.h"
#include "controller/report/proposal.h"

namespace railgauge::report {

// The share of figures measured twice that chance alone may make differ.
inline constexpr double kFalseAlarmBudget = 0.05;

// A proposal of a gate, with those of its nodes that still wait for an answer.
struct WaitingProposal {
  std::string at{};
  Proposal proposal{};
};
// The nodes of each proposal that no later proposal names and no upgrade measured since. Proposals
// without such nodes, and events of another form, are left out. `events`: of kind kProposedKind,
// newest first.
std::vector<WaitingProposal> waiting_proposals(
    const google::protobuf::RepeatedPtrField<api::Event>& events,
    const google::protobuf::RepeatedPtrField<api::Upgrade>& upgrades);

// All that a report is made of. Times are RFC 3339 in UTC, so that they sort as texts.
struct Material {
  std::string scope = "since";  // "since", "run", "upgrade"
  std::string subject{};        // the run or upgrade
  std::string from_at{};
  // Findings that changed later are news; "": `from_at`. Later than it where an earlier report has
  // what happened in between.
  std::string news_from_at{};
  std::string until_at{};
  bool is_synthetic = false;  // the site is modelled, whatever is in the lists below
  api::NodeList nodes{};
  std::vector<api::TaskGroups> runs{};         // of the report's time
  std::vector<api::Finding> findings{};        // those that changed or are open
  std::vector<api::SuspectList> suspects{};    // of runs that measured pairs
  std::vector<api::Upgrade> upgrades{};        // those that wait or were judged in its time
  std::vector<WaitingProposal> proposals{};    // newest first
  std::vector<api::ScheduleInfo> schedules{};  // with their due times
  std::vector<api::Event> events{};            // newest first
  std::optional<std::uint32_t> measured_twice{};
  std::optional<std::uint32_t> measured_twice_apart{};
  std::vector<api::ReportedCut> cuts{};  // lists of which not all was read
};

// Makes the document. Its verdict is `regressed` with a new, worse or confirmed finding, a
// confirmed suspect or a regressed upgrade; `invalid` when nothing was measured; `inconclusive`
// when tasks failed, parts were missed or not read, or something waits for an answer; else `pass`.
// A long list has its most urgent entries, and the count of those that are left. The headline of a
// synthetic report begins with the word.
api::SiteReport make_report(const Material& material);

}  // namespace railgauge::report
