// Maps and lists of text as JSON text: what the database's interned sets hold. Written here, one
// text for each map; read back through SQLite's own json_each.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "controller/store/rows/rows.h"
#include "controller/store/sqlite/sqlite.h"
#include "kernels/core/base/result.h"

namespace railgauge::store {

// {"a":"1","b":"x"}: keys sorted, no blanks.
std::string json_of(const TextMap& map);
// ["a","b"]
std::string json_of(std::span<const std::string> list);
Result<TextMap> read_map(Connection& connection, std::string_view json);
Result<std::vector<std::string>> read_list(Connection& connection, std::string_view json);

// 64-bit FNV-1a, for lookups that compare the text afterwards.
std::int64_t hash_of(std::string_view text);

}  // namespace railgauge::store
