#include "controller/mirror/copy_rows.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "controller/trust/digest.h"
#include "kernels/core/text/text.h"

namespace railgauge::mirror {
namespace {

using store::MirrorCell;
using store::MirrorColumn;
using store::MirrorKind;
using store::MirrorTable;

// Signature, flags, length of the extension.
constexpr std::string_view kHeader("PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\0", 19);
constexpr std::string_view kTrailer("\377\377", 2);
// PostgreSQL's times are microseconds since 2000.
constexpr std::int64_t kMicrosecondsTo2000 = 946'684'800'000'000;
constexpr double kLatestSeconds = 253'402'300'799;  // the end of 9999

// Appends an integer, its highest byte first.
template <class Integer>
void put(std::string& out, Integer value) {
  for (int shift = static_cast<int>(sizeof(Integer)) * 8 - 8; shift >= 0; shift -= 8)
    out += static_cast<char>((static_cast<std::uint64_t>(value) >> static_cast<unsigned>(shift)) &
                             0xFFU);
}

// A field is its length in bytes, then its value.
template <class Integer>
void put_field(std::string& out, Integer value) {
  put<std::int32_t>(out, sizeof(Integer));
  put(out, value);
}

void put_bytes(std::string& out, std::string_view bytes) {
  put(out, static_cast<std::int32_t>(bytes.size()));
  out += bytes;
}

void put_text(std::string& out, std::string_view text) {
  std::string clean = valid_utf8(text);
  std::ranges::replace(clean, '\0', '?');
  put_bytes(out, clean);
}

// Not a number counts as 1970.
void put_seconds(std::string& out, double seconds) {
  if (!(seconds >= 0)) seconds = 0;
  const double microseconds = std::min(seconds, kLatestSeconds) * 1e6;
  put_field(out, static_cast<std::int64_t>(std::llround(microseconds)) - kMicrosecondsTo2000);
}

void put_integer(std::string& out, std::string_view type, std::int64_t value) {
  if (type == "smallint") return put_field(out, static_cast<std::int16_t>(value));
  if (type == "integer") return put_field(out, static_cast<std::int32_t>(value));
  put_field(out, value);
}

std::string digest_of(std::string_view bytes) {
  const std::string hex = trust::sha256_hex(bytes);
  std::string digest;
  for (std::size_t i = 0; i < hex.size(); i += 2)
    digest += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return digest;
}

// A column of reals may hold an integer: the store keeps 1.0 as 1.
double real_of(const MirrorCell& cell) {
  const auto* integer = std::get_if<std::int64_t>(&cell);
  return integer != nullptr ? static_cast<double>(*integer) : std::get<double>(cell);
}

void put_cell(std::string& out, const MirrorTable& table, const MirrorColumn& column,
              const MirrorCell& cell, std::vector<BlobRef>& blobs) {
  if (std::holds_alternative<std::monostate>(cell)) return put<std::int32_t>(out, -1);
  switch (column.kind) {
    case MirrorKind::kInteger:
      return put_integer(out, column_type(table, column), std::get<std::int64_t>(cell));
    case MirrorKind::kReal:
      return put_field(out, std::bit_cast<std::int64_t>(real_of(cell)));
    case MirrorKind::kText:
      return put_text(out, std::get<std::string>(cell));
    case MirrorKind::kSeconds:
      return put_seconds(out, real_of(cell));
    case MirrorKind::kMilliseconds:
      return put_seconds(out, static_cast<double>(std::get<std::int64_t>(cell)) / 1e3);
    case MirrorKind::kBlob: {
      const std::string& bytes = std::get<std::string>(cell);
      blobs.push_back({.digest = digest_of(bytes), .bytes = bytes});
      return put_bytes(out, blobs.back().digest);
    }
  }
}

}  // namespace

std::string column_name(const MirrorColumn& column) {
  if (column.kind == MirrorKind::kMilliseconds) return "measured_at";
  std::string name(column.name);
  if (column.kind == MirrorKind::kBlob) name += "_digest";
  return name;
}

// Points are many: their integers take no more room than they need.
std::string_view column_type(const MirrorTable& table, const MirrorColumn& column) {
  const bool is_point = table.name == "point";
  switch (column.kind) {
    case MirrorKind::kInteger:
      if (is_point && column.name == "flags") return "smallint";
      return is_point && column.name != "id" ? "integer" : "bigint";
    case MirrorKind::kReal:
      return "double precision";
    case MirrorKind::kText:
      return "text";
    case MirrorKind::kSeconds:
    case MirrorKind::kMilliseconds:
      return "timestamptz";
    case MirrorKind::kBlob:
      return "bytea";
  }
  return "";
}

std::string copy_of(const store::MirrorRows& rows, std::vector<BlobRef>& blobs) {
  const MirrorTable& table = store::mirror_tables()[rows.table];
  std::string out(kHeader);
  for (std::size_t cell = 0; cell < rows.cells.size(); ++cell) {
    const std::size_t column = cell % table.columns.size();
    if (column == 0) put(out, static_cast<std::int16_t>(table.columns.size()));
    put_cell(out, table, table.columns[column], rows.cells[cell], blobs);
  }
  return out += kTrailer;
}

std::size_t parts_of(const BlobRef& blob) {
  return std::max<std::size_t>(1, (blob.bytes.size() + kBlobPartBytes - 1) / kBlobPartBytes);
}

std::string copy_of_blobs(const std::vector<BlobPart>& parts) {
  std::string out(kHeader);
  for (const BlobPart& one : parts) {
    put(out, std::int16_t{3});
    put_bytes(out, one.blob->digest);
    put_field(out, static_cast<std::int32_t>(one.part));
    put_bytes(out, one.blob->bytes.substr(one.part * kBlobPartBytes, kBlobPartBytes));
  }
  return out += kTrailer;
}

}  // namespace railgauge::mirror
