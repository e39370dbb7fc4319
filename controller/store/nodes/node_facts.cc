#include "controller/store/nodes/node_facts.h"

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

}  // namespace railgauge::store
