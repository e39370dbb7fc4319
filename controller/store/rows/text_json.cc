#include "controller/store/rows/text_json.h"

#include <bit>

#include <fmt/format.h>

namespace railgauge::store {
namespace {

// Escapes what JSON demands: quotes, backslashes and control characters. Other bytes are UTF-8
// already.
void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20U) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  out += '"';
}

}  // namespace

// std::map is sorted, so equal maps have equal texts, which the interned sets rely on.
std::string json_of(const TextMap& map) {
  std::string out = "{";
  for (const auto& [key, value] : map) {
    if (out.size() > 1) out += ',';
    append_quoted(out, key);
    out += ':';
    append_quoted(out, value);
  }
  return out += '}';
}

// The list keeps its order.
std::string json_of(std::span<const std::string> list) {
  std::string out = "[";
  for (const std::string& text : list) {
    if (out.size() > 1) out += ',';
    append_quoted(out, text);
  }
  return out += ']';
}

// SQLite parses the JSON; a damaged text is its error.
Result<TextMap> read_map(Connection& connection, std::string_view json) {
  TextMap map;
  Rows rows = RG_TRY(connection.query("SELECT key, value FROM json_each(?1)", json));
  while (RG_TRY(rows.next())) map.emplace(rows.text(0), rows.text(1));
  return map;
}

// By key, which is the position.
Result<std::vector<std::string>> read_list(Connection& connection, std::string_view json) {
  std::vector<std::string> list;
  Rows rows = RG_TRY(connection.query("SELECT value FROM json_each(?1) ORDER BY key", json));
  while (RG_TRY(rows.next())) list.push_back(rows.text(0));
  return list;
}

// Stable over versions: hashes are stored.
std::int64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return std::bit_cast<std::int64_t>(hash);
}

// The row is left before read_map runs the next statement.
Result<const TextMap*> TextSets::get(Known& known, std::string_view sql, std::int64_t id) {
  const auto found = known.find(id);
  if (found != known.end()) return &found->second;
  std::string body;
  {
    Rows rows = RG_TRY(connection_.query(sql, id));
    if (RG_TRY(rows.next())) body = rows.text(0);
  }
  TextMap map;
  if (!body.empty()) map = RG_TRY(read_map(connection_, body));
  return &known.emplace(id, std::move(map)).first->second;
}

}  // namespace railgauge::store
