#include "controller/store/queries/node_heads.h"

#include <tuple>

#include "controller/store/rows/text_json.h"

namespace railgauge::store {

Result<std::vector<NodeHeadRow>> read_node_heads(Connection& connection) {
  constexpr Columns kColumns{&NodeHeadRow::name, &NodeHeadRow::stack};
  return connection.list(
      kColumns,
      "SELECT name, stack FROM node LEFT JOIN epoch ON epoch.node=node.id AND valid_to IS NULL "
      "WHERE NOT EXISTS (SELECT 1 FROM node other WHERE other.name=node.name AND "
      "(other.last_seen_at, other.id) > (node.last_seen_at, node.id)) ORDER BY name");
}

Result<StackParts> read_stack(Connection& connection, std::int64_t stack) {
  StackBodies bodies;
  RG_TRY(connection.row(
      std::tie(bodies.versions, bodies.settings),
      "SELECT old.body, was.body FROM stack JOIN fact_set AS old ON old.id=versions JOIN fact_set "
      "AS was ON was.id=settings WHERE stack.id=?1",
      stack));
  return read_parts(connection, bodies);
}

}  // namespace railgauge::store
