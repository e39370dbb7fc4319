#include "controller/store/rows/text_json.h"

#include <bit>

#include <fmt/format.h>

namespace railgauge::store {
namespace {

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

std::string json_of(std::span<const std::string> list) {
  std::string out = "[";
  for (const std::string& text : list) {
    if (out.size() > 1) out += ',';
    append_quoted(out, text);
  }
  return out += ']';
}

Result<TextMap> read_map(Connection& connection, std::string_view json) {
  TextMap map;
  if (json.empty()) return map;
  Rows rows = RG_TRY(connection.query("SELECT key, value FROM json_each(?1)", json));
  while (RG_TRY(rows.next())) map.emplace(rows.text(0), rows.text(1));
  return map;
}

Result<StackParts> read_parts(Connection& connection, const StackBodies& bodies) {
  return StackParts{.versions = RG_TRY(read_map(connection, bodies.versions)),
                    .settings = RG_TRY(read_map(connection, bodies.settings))};
}

Result<std::vector<std::string>> read_list(Connection& connection, std::string_view json) {
  return connection.column<std::string>("SELECT value FROM json_each(?1) ORDER BY key", json);
}

std::int64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return std::bit_cast<std::int64_t>(hash);
}

}  // namespace railgauge::store
