// Maps and lists of text as JSON text, the content of the database's interned sets. Equal maps have
// equal texts; SQLite's json_each reads them back.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "controller/store/rows/rows.h"
#include "controller/store/rows/stack_parts.h"
#include "controller/store/sqlite/sqlite.h"
#include "kernels/core/base/result.h"

namespace railgauge::store {

// Returns {"a":"1","b":"x"}: keys sorted, no blanks.
std::string json_of(const TextMap& map);
// Returns ["a","b"], in the given order.
std::string json_of(std::span<const std::string> list);
// Reads a map back; "" is the empty map.
Result<TextMap> read_map(Connection& connection, std::string_view json);
// The stored texts of a stack's two maps.
struct StackBodies {
  std::string versions{};
  std::string settings{};
};
Result<StackParts> read_parts(Connection& connection, const StackBodies& bodies);
Result<std::vector<std::string>> read_list(Connection& connection, std::string_view json);

// Interned sets of facts and parameters by their ids, each read once for one query.
class TextSets {
 public:
  explicit TextSets(Connection& connection) : connection_(connection) {}

  // Return a set by its id; 0 is the empty set. Pointers are valid during the life of this object.
  Result<const TextMap*> facts(std::int64_t id) {
    return get(facts_, "SELECT body FROM fact_set WHERE id=?1", id);
  }
  Result<const TextMap*> parameters(std::int64_t id) {
    return get(parameters_, "SELECT body FROM parameter_set WHERE id=?1", id);
  }

 private:
  using Known = std::map<std::int64_t, TextMap>;

  Result<const TextMap*> get(Known& known, std::string_view sql, std::int64_t id) {
    const auto found = known.find(id);
    if (found != known.end()) return &found->second;
    std::string body;
    RG_TRY_OK(connection_.row(std::tie(body), sql, id));
    return &known.emplace(id, RG_TRY(read_map(connection_, body))).first->second;
  }

  Connection& connection_;
  Known facts_;
  Known parameters_;
};

// Returns the 64-bit FNV-1a hash, for lookups that compare the text afterwards.
std::int64_t hash_of(std::string_view text);

}  // namespace railgauge::store
