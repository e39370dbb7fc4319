#include "controller/findings/failed_ports.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "controller/findings/changes/run_changes.h"
#include "controller/findings/run_findings.h"
#include "kernels/core/base/lookup.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/base/severity.h"
#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"

namespace railgauge {
namespace {

constexpr std::string_view kPortShareMetric = "busiest_port_share";
constexpr std::string_view kQuietestFact = "quietest_port_share";
// Between ports that share evenly, 1, and one that carries another's traffic, 2.
constexpr double kSuspectShare = 1.5;
// A quietest port below this share of the mean carried too little.
constexpr double kQuietShare = 0.5;
// Smaller messages use one port by design.
constexpr double kLeastBytes = 1U << 20U;
constexpr std::size_t kPortsKept = 20;
constexpr std::uint32_t kPortFiguresRead = 10'000;

std::string node_of(const std::string& endpoint) { return endpoint.substr(0, endpoint.find('/')); }

// The figure's host: that of the rank which the point names.
std::optional<std::string> node_of_row(const store::ResultRow& row) {
  const auto rank = parse_integer(value_of(row.point.facts(), std::string("unequal_host_rank")));
  if (!rank || *rank < 0 || *rank >= static_cast<std::int64_t>(row.endpoints.size()))
    return std::nullopt;
  return node_of(row.endpoints[static_cast<std::size_t>(*rank)]);
}

// Where all other ports took over, the busiest of N carries N / (N - 1) times the mean. Equal
// shares with some ports busier, as of channels that N does not divide, have no quiet port.
bool has_quiet_port(const store::ResultRow& row) {
  const auto ports = parse_integer(value_of(row.point.facts(), std::string("ports")));
  const auto quietest = parse_number(value_of(row.point.facts(), std::string(kQuietestFact)));
  return ports && quietest && *quietest < kQuietShare &&
         row.point.median() >= least_suspect_share(*ports);
}

bool is_suspect(const store::ResultRow& row) {
  return row.point.median() >= kSuspectShare || has_quiet_port(row);
}

bool counts(const store::ResultRow& row) {
  return row.point.metric() == kPortShareMetric && row.outcome == kPassed &&
         row.point.message_bytes() >= kLeastBytes;
}

}  // namespace

double least_suspect_share(std::int64_t ports) {
  return ports > 1 ? 1 + kQuietShare / static_cast<double>(ports - 1)
                   : std::numeric_limits<double>::infinity();
}

// One finding a node, by its worst figure; the other figures would say the same.
std::vector<FailedPort> failed_ports_among(std::span<const store::ResultRow> rows) {
  std::map<std::string, FailedPort> worst;
  for (const store::ResultRow& row : rows) {
    if (!counts(row) || !is_suspect(row)) continue;
    const auto node = node_of_row(row);
    if (!node) continue;
    FailedPort& port = worst[*node];
    if (row.point.median() <= port.share) continue;
    port = {.node = *node,
            .share = row.point.median(),
            .kernel = row.kernel,
            .message_bytes = row.point.message_bytes(),
            .quietest =
                parse_number(value_of(row.point.facts(), std::string(kQuietestFact))).value_or(1),
            .port_bytes = value_of(row.point.facts(), std::string("port_bytes"))};
  }
  std::vector<FailedPort> ports;
  for (auto& [node, port] : worst) ports.push_back(std::move(port));
  std::ranges::stable_sort(ports, std::ranges::greater{}, &FailedPort::share);
  return ports;
}

namespace {

// The words of the finding: node, ratio, where it was seen, and the bytes of each port.
store::FindingRow row_of_port(const FailedPort& port, const store::RunRow& run,
                              const std::map<std::string, std::string>& node_ids, double now) {
  return {
      .finding_id = fmt::format("{}-{}", kFailedPortKind, finding_word(port.node)),
      .kind = std::string(kFailedPortKind),
      .severity = severity::kWarning,
      .run_id = run.run_id,
      .node_id = value_of(node_ids, port.node),
      .suspect = port.node,
      .summary = fmt::format(
          "{}: one NIC port carried {:.2f} times the mean of the node's ports{} in {} of {}: "
          "another port may have failed over; {}",
          port.node, port.share,
          port.quietest < kQuietShare ? fmt::format(", another {:.2f} times,", port.quietest) : "",
          port.kernel, canonical_bytes(static_cast<std::uint64_t>(port.message_bytes)),
          port.port_bytes),
      .evidence = fmt::format(R"({{"busiest_port_share": {:.4f}}})", port.share),
      .opened_at = now,
      .worse = std::nullopt};
}

// Ends findings of nodes of which this run has figures, none of them suspect.
Status end_ports(store::Store& store, const store::RunRow& run,
                 const std::set<std::string>& measured, const std::set<std::string>& bad,
                 double now) {
  for (const store::FindingRow& row : RG_TRY(findings_to_end(store, kFailedPortKind, run)))
    if (!bad.contains(row.suspect) && measured.contains(row.suspect))
      RG_TRY_OK(end_run_finding(store, row, run, "the ports of the node carried alike", now));
  return {};
}

}  // namespace

// A paused node opens nothing; its older findings may still end.
Status judge_failed_ports(store::Store& store, const store::RunRow& run, double now) {
  const auto rows = RG_TRY(store.results(
      {.run_id = run.run_id, .metric = std::string(kPortShareMetric), .limit = kPortFiguresRead}));
  if (rows.empty()) return {};
  std::set<std::string> measured;  // nodes whose ports a large message used
  for (const store::ResultRow& row : rows)
    if (counts(row))
      for (const std::string& endpoint : row.endpoints) measured.insert(node_of(endpoint));
  std::vector<FailedPort> ports = failed_ports_among(rows);
  std::set<std::string> bad;
  for (const FailedPort& port : ports) bad.insert(port.node);
  if (ports.size() > kPortsKept) ports.resize(kPortsKept);
  const RunNodes nodes = ports.empty() ? RunNodes() : RG_TRY(read_run_nodes(store, run));
  for (const FailedPort& port : ports)
    if (!nodes.paused.contains(port.node))
      RG_TRY_OK(keep_run_finding(store, row_of_port(port, run, nodes.ids, now), false));
  return end_ports(store, run, measured, bad, now);
}

}  // namespace railgauge
