// The points of tasks between two ranks, one by one along their keys, with no more of each than the
// figure of a pair needs: a run of a large site has millions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "controller/store/rows/rows.h"
#include "kernels/core/base/result.h"

namespace railgauge::store {

class Connection;

// The points that are visited. Texts that are empty choose all.
struct PairPointsFilter {
  // "all", or the id of a run.
  std::string run_id{};
  std::string kernel{};
  std::string metric{};
  std::optional<double> message_bytes{};
  // Visits those alone that have one of these bits of point_flags.h; 0: all.
  std::int64_t any_flag = 0;
};

// A point of an attempt that counts, whose ranks are two and passed, or failed by a limit of the
// suite alone. Views are valid during the visit.
struct PairPointRow {
  std::string_view task_id{};
  std::string_view kernel{};
  std::string_view metric{};
  std::string_view meaning{};
  std::string_view unit{};
  double message_bytes = 0;
  bool larger_is_better = false;
  // "node/DEV:PORT" of rank 0 and rank 1, as opened, else as planned.
  std::string_view first{};
  std::string_view second{};
  // By the reporting rank: the facts "memory" and "follow_up", and the parameters "memory" and
  // "direction".
  std::string_view memory_fact{};
  std::string_view follow_up{};
  std::string_view memory{};
  std::string_view direction{};
  // The headline in the series' unit, and its 95 % interval where there is one.
  double value = 0;
  std::optional<double> low{};
  std::optional<double> high{};
  std::int64_t flags = 0;
};

// Receives a point; an error ends the visit.
using PairPointVisitor = std::function<Status(const PairPointRow&)>;

// Values that the points of one visit share, kept from page to page. visit_pair_points() alone
// reads and writes it. Not thread safe.
struct PairPointMemo {
  // Two words of a set of facts or parameters.
  struct Words {
    std::string memory{};
    std::string other{};
  };
  using Sets = std::unordered_map<std::int64_t, Words>;
  Sets facts{};
  Sets parameters{};
  // The ends of the present point.
  std::string first{};
  std::string second{};
};

// Visits the points of the range, but at most some ten thousand, since a reader's transaction has
// to be short. Returns the key up to which
// points were read. kNotFound: no such run. Other errors are those of `visit`.
Result<std::int64_t> visit_pair_points(Connection& connection, const PairPointsFilter& filter,
                                       PointRange range, PairPointMemo& memo,
                                       const PairPointVisitor& visit);

// Reports whether a point that the filter chooses within the range is synthetic: any represents
// all. False without such a point. The filter names a run, a kernel, a metric and a size.
Result<bool> is_pair_synthetic(Connection& connection, const PairPointsFilter& filter,
                               PointRange range);

}  // namespace railgauge::store
