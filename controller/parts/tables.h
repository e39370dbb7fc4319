// The levels of several nights, side by side: one table for each kind of part, with a row for each
// night. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "controller/localise/localise.h"
#include "controller/parts/levels.h"

namespace railgauge::parts {

// Kinds of tables, the coarsest first: a part of an earlier table explains those of later ones.
enum class TableId : std::uint8_t {
  kRail,
  kLeaf,
  kLeafRail,
  kNode,
  kNodeSends,
  kNodeReceives,
  kPort,
  kPortSends,
  kPortReceives,
  kGpu,
  kGpuSends,
  kGpuReceives,
  kTrunk,
  kTrunkRail,
};
inline constexpr std::size_t kTables = 14;

// The levels of all parts of one kind.
struct Table {
  TableId id = TableId::kRail;
  // Number of parts; see part_of().
  std::size_t parts = 0;
  // By night, part. Levels of ports and nodes are relative to the other nodes of their leaf where
  // it has enough, so that a leaf's noise is not theirs.
  std::vector<Level> levels{};
  [[nodiscard]] const Level& at(std::size_t night, std::size_t part) const {
    return levels[night * parts + part];
  }
};

// Nodes of a leaf from which on its nodes are compared with each other.
inline constexpr std::size_t kLeafMates = 5;

// Nights as tables. Nodes, leaves and rails are those of the last night; others are left out.
class Tables {
 public:
  // `nights`: the oldest first, at least one; they must outlive the tables.
  explicit Tables(std::span<const Levels* const> nights);

  [[nodiscard]] std::size_t nights() const { return nights_.size(); }
  [[nodiscard]] const Levels& last() const { return *nights_.back(); }
  [[nodiscard]] const Levels& night(std::size_t night) const { return *nights_[night]; }
  [[nodiscard]] const Table& table(TableId id) const {
    return tables_[static_cast<std::size_t>(id)];
  }
  // The part of that number of the table.
  [[nodiscard]] localise::Element part_of(TableId id, std::size_t part) const;
  // The levels of the part, night by night; empty where no table has it (pairs, spines).
  [[nodiscard]] std::vector<Level> levels_over(const localise::Element& element) const;
  // Nodes of each leaf.
  [[nodiscard]] const std::vector<std::vector<std::size_t>>& members() const { return members_; }
  // By number of a trunk: its two leaves.
  [[nodiscard]] const std::vector<std::array<std::size_t, 2>>& trunks() const { return trunks_; }
  [[nodiscard]] std::size_t rails() const { return last().rails; }

 private:
  // The mean level of all GPUs of the node, night by night.
  [[nodiscard]] std::vector<Level> gpus_over(std::size_t node, TableId id) const;
  void fill(std::size_t night);
  void fill_ends(std::size_t night);
  void fill_groups(std::size_t night);
  void fill_trunks(std::size_t night);
  void take_leaf_away(const Levels& levels, std::vector<Level>& net) const;
  Level& put(TableId id, std::size_t night, std::size_t part) {
    Table& table = tables_[static_cast<std::size_t>(id)];
    return table.levels[night * table.parts + part];
  }

  // Nights whose nodes, leaves or rails differed, in the shape of the last.
  std::vector<Levels> reshaped_{};
  std::vector<const Levels*> nights_{};
  std::vector<std::vector<std::size_t>> members_{};
  std::vector<std::array<std::size_t, 2>> trunks_{};
  std::array<Table, kTables> tables_{};
};

// Returns the mean of the known levels; unknown with fewer than `least`.
Level mean_of(std::span<const Level> levels, std::size_t least);

// The words that name a table's kind of part: "port", "GPU", "leaf on one rail".
std::string_view table_word(TableId id);

}  // namespace railgauge::parts
