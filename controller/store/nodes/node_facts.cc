#include "controller/store/nodes/node_facts.h"

#include <map>
#include <utility>

#include <fmt/format.h>

#include "controller/store/rows/text_json.h"
#include "controller/store/sqlite/sqlite.h"

namespace railgauge::store {

// A reinstalled node has a new id under its old name: the one seen last has the name.
Result<TextMap> read_described(Connection& connection, const std::string& name) {
  Rows rows = RG_TRY(
      connection.query("SELECT body FROM node JOIN fact_set ON fact_set.id=node.fact_set WHERE "
                       "node.id=(SELECT id FROM node WHERE name=?1 ORDER BY last_seen_at DESC, id "
                       "DESC LIMIT 1)",
                       name));
  if (!RG_TRY(rows.next())) return TextMap();
  return read_map(connection, rows.text(0));
}

namespace {

constexpr std::string_view kHasTheName =
    "NOT EXISTS (SELECT 1 FROM node other WHERE other.name=node.name AND (other.last_seen_at, "
    "other.id) > (node.last_seen_at, node.id))";

using NodesById = std::map<std::int64_t, NodeRow>;

// Reads a path of each set's text: all names of all sets are a hundred times as many.
Status add_fact(Connection& connection, const std::string& chosen, const std::string& names,
                const std::string& fact, NodesById& nodes) {
  if (fact.find_first_of("\"\\") != std::string::npos) return {};  // no path names it
  Rows rows = RG_TRY(connection.query(
      fmt::format(
          "SELECT node.id, json_extract(own.body, ?2), json_extract(stated.body, ?2) FROM node "
          "LEFT JOIN fact_set AS own ON own.id=node.fact_set LEFT JOIN epoch ON "
          "epoch.node=node.id AND valid_to IS NULL LEFT JOIN stack ON stack.id=epoch.stack LEFT "
          "JOIN fact_set AS stated ON stated.id=stack.versions WHERE {}",
          chosen),
      names, fmt::format("$.\"{}\"", fact)));
  while (RG_TRY(rows.next())) {
    const auto node = nodes.find(rows.integer(0));
    if (node == nodes.end()) continue;
    if (!rows.is_null(1)) node->second.described[fact] = rows.text(1);
    if (!rows.is_null(2)) node->second.facts[fact] = rows.text(2);
  }
  return {};
}

Status add_labels(Connection& connection, const std::string& chosen, const std::string& names,
                  NodesById& nodes) {
  Rows rows = RG_TRY(connection.query(
      fmt::format("SELECT node, key, value FROM node_label JOIN node ON node.id=node WHERE {}",
                  chosen),
      names));
  while (RG_TRY(rows.next()))
    if (const auto node = nodes.find(rows.integer(0)); node != nodes.end())
      node->second.labels[rows.text(1)] = rows.text(2);
  return {};
}

Status add_ports(Connection& connection, const std::string& chosen, const std::string& names,
                 NodesById& nodes) {
  Rows rows = RG_TRY(connection.query(
      fmt::format("SELECT endpoint.node, device, port, iif(slot GLOB 'netdev:*' OR slot GLOB "
                  "'device:*', '', slot), netdev, guid FROM endpoint JOIN endpoint_attribute ON "
                  "endpoint=endpoint.id AND valid_to IS NULL JOIN node ON node.id=endpoint.node "
                  "WHERE kind='nic' AND endpoint.last_seen_at=node.last_seen_at AND {} ORDER BY "
                  "endpoint.node, slot, port",
                  chosen),
      names));
  while (RG_TRY(rows.next())) {
    const auto node = nodes.find(rows.integer(0));
    if (node == nodes.end()) continue;
    EndpointRow& port = node->second.endpoints.emplace_back();
    std::int64_t of = 0;
    rows.read(of, port.device, port.port, port.pci_address, port.netdev, port.guid);
    port.kind = "nic";
  }
  return {};
}

}  // namespace

Result<std::vector<KnownNodeRow>> read_known_nodes(Connection& connection) {
  using Row = KnownNodeRow;
  return connection.list(Columns{&Row::name, &Row::node_id, &Row::first_seen_at},
                         fmt::format("SELECT name, node_id, first_seen_at FROM node WHERE {} "
                                     "ORDER BY name",
                                     kHasTheName));
}

Result<std::vector<NodeRow>> read_placed_nodes(Connection& connection, const PlaceWanted& wanted) {
  const std::string names = json_of(wanted.names);
  const std::string chosen =
      wanted.names.empty() ? "?1=?1" : "node.name IN (SELECT value FROM json_each(?1))";
  NodesById nodes;
  std::vector<std::int64_t> order;
  {
    Rows rows = RG_TRY(connection.query(
        fmt::format("SELECT id, node_id, name, version, address, first_seen_at, last_seen_at FROM "
                    "node WHERE {} AND {} ORDER BY name",
                    chosen, kHasTheName),
        names));
    while (RG_TRY(rows.next())) {
      const std::int64_t id = order.emplace_back(rows.integer(0));
      NodeRow& node = nodes[id];
      std::int64_t same = 0;
      rows.read(same, node.node_id, node.name, node.version, node.address, node.first_seen_at,
                node.last_seen_at);
    }
  }
  for (const std::string& fact : wanted.facts)
    RG_TRY_OK(add_fact(connection, chosen, names, fact, nodes));
  RG_TRY_OK(add_labels(connection, chosen, names, nodes));
  RG_TRY_OK(add_ports(connection, chosen, names, nodes));
  std::vector<NodeRow> all;
  for (const std::int64_t id : order) all.push_back(std::move(nodes[id]));
  return all;
}

}  // namespace railgauge::store
