// THE list of tables that the mirror copies, with their columns. Pure; thread safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace railgauge::store {

// How a column is kept there. kBlob is content that several rows may share: the mirror keeps it by
// its digest. Times are seconds since 1970, or whole milliseconds.
enum class MirrorKind : std::uint8_t { kInteger, kReal, kText, kBlob, kSeconds, kMilliseconds };

struct MirrorColumn {
  std::string_view name;
  MirrorKind kind = MirrorKind::kInteger;
  // A change of this column alone is not sent: it changes all the time, as the last look at a node.
  bool is_quiet = false;
  // A figure of a point's distribution, which the store has in a table of its own.
  bool is_tail = false;
};

// Which deletes are carried over. Rows that go here by retention stay there: retention deletes rows
// of the first two kinds.
enum class MirrorDeletes : std::uint8_t { kNever, kNotByRetention, kAlways };

struct MirrorTable {
  std::string_view name;         // the same in both databases
  std::string_view key;          // integer column by which the outbox names rows
  std::size_t identity_columns;  // so many leading columns are the key of a row there
  bool is_set;                   // several rows have one key and are sent together
  MirrorDeletes deletes;
  std::span<const MirrorColumn> columns;
};

// A table's number in the outbox is its place in the list: rows are only ever appended.
std::span<const MirrorTable> mirror_tables();
// The table as SQL reads it, with all columns of the list.
std::string source_of(const MirrorTable& table);
// The place of a table; CHECKs that there is one of this name.
std::size_t mirror_table_number(std::string_view name);

}  // namespace railgauge::store
