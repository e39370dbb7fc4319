#include "controller/store/queries/series_choice.h"

#include <string_view>

#include <fmt/format.h>

#include "controller/store/sqlite/sqlite.h"

namespace railgauge::store {
namespace {

constexpr std::string_view kOfNodes =
    "SELECT series FROM series_endpoint WHERE endpoint IN (SELECT id FROM endpoint WHERE node IN ("
    "SELECT node FROM json_each(?5) AS wanted CROSS JOIN node_name ON name=wanted.value UNION "
    "SELECT node.id FROM json_each(?5) AS wanted CROSS JOIN node ON node_id=wanted.value))";
constexpr std::string_view kOfEndpoint =
    "SELECT series FROM endpoint_attribute JOIN endpoint ON "
    "endpoint.id=endpoint_attribute.endpoint JOIN endpoint AS used ON used.node=endpoint.node AND "
    "((used.slot=endpoint.slot AND used.port=endpoint.port) OR (endpoint.kind='gpu' AND "
    "used.gpu_slot=endpoint.slot)) JOIN series_endpoint ON series_endpoint.endpoint=used.id WHERE "
    "?8=iif(endpoint.port>0, device || ':' || endpoint.port, device)";
constexpr std::string_view kOfRail =
    "SELECT series FROM series_endpoint JOIN endpoint ON endpoint.id=endpoint WHERE rail=?9";

}  // namespace

// A plus keeps a clause from being looked up: SQLite, which knows nothing of how many there are,
// might begin with it. Nor does it list all series of an endpoint or rail where few are left to
// ask.
std::string series_choice(const ResultsFilter& filter) {
  std::string clauses;
  const auto add = [&clauses](std::string_view clause) {
    clauses += fmt::format("{}{}", clauses.empty() ? " WHERE " : " AND ", clause);
  };
  const auto add_set = [&](std::string_view set) {
    add(fmt::format(
        fmt::runtime(clauses.empty() ? "id IN ({})"
                                     : "EXISTS ({} AND series_endpoint.series=series.id)"),
        set));
  };
  if (!filter.nodes.empty()) add_set(kOfNodes);
  // The index of series begins with these three.
  const std::string_view sign = clauses.empty() ? "" : "+";
  if (!filter.kernel.empty()) add(fmt::format("{}kernel=?2", sign));
  if (!filter.metric.empty()) add(fmt::format("{}metric=?3", sign));
  if (filter.message_bytes) add(fmt::format("{}message_bytes=?4", sign));
  if (!filter.endpoint.empty()) add_set(kOfEndpoint);
  if (filter.rail) add_set(kOfRail);
  return "SELECT id FROM series" + clauses;
}

}  // namespace railgauge::store
