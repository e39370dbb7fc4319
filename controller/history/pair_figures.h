// Figures of a run's pairs by node, rail and memory, for localisation and heat maps. They come from
// stored matrices if the run has any, else from its points. Called on worker threads; functions
// without a store are pure.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/api/archive.pb.h"
#include "controller/fleet/leaf_map.h"
#include "controller/localise/localise.h"
#include "controller/store/pairs/pair_points.h"
#include "controller/store/store.h"

namespace railgauge {

// One kernel's metric at one message size with figures of pairs. `unit` is the kernel's text.
struct PairSeries {
  std::string kernel{};
  std::string metric{};
  std::string meaning{};
  std::string unit{};
  double message_bytes = 0;
  bool larger_is_better = false;
  // NOLINTNEXTLINE(modernize-use-nullptr): the check takes the comparison with 0 for a pointer
  auto operator<=>(const PairSeries&) const = default;
};

// The figures of one series of a run.
struct PairFigures {
  std::string run_id{};
  PairSeries series{};
  // Series that the request also matches, the one with most figures first.
  std::vector<PairSeries> others{};
  // Nodes by name, and a layer for each rail and memory.
  localise::PairData data{};
  // The number of figures between two rails, which are in no layer.
  double across_rails = 0;
};

// The series of a stored matrix, and the key by which the store finds the matrix again.
PairSeries matrix_series(const store::PairMatrixRow& matrix);
store::PairMatrixKey matrix_key(const store::PairMatrixRow& matrix);

// Standard errors to each side of a 95 % interval.
inline constexpr double kErrorsOfInterval = 1.96;

// The fields of a point that make it the figure of a pair.
struct PairPoint {
  PairSeries series{};
  // "node/DEV:PORT" of the end that sends the data, then of the end that receives it.
  std::string from{};
  std::string to{};
  // "host" or "gpu".
  std::string memory{};
  // The headline of the point, in the unit of the series: the rate of a rate, else the median;
  // above 0.
  double value = 0;
  // The standard error of the value by its own samples, a fraction of it; 0: not known.
  double spread = 0;
  bool synthetic = false;
};
// Fills `point` and returns whether the row is the figure of a pair. Loopback, collectives,
// follow-ups of a suspect (which would count twice), sums of both directions, several rails
// together, and tasks without a complete measurement are no figures of pairs. A figure beyond a
// limit of the suite is one: it shows a slow part best.
bool pair_point_of(const store::PairPointRow& row, PairPoint& point);
// Suffix of a stored matrix's row for an end without a port and with memory "gpu".
inline constexpr std::string_view kGpuRow = "+gpu";
// Splits "n1/mlx5_0:1+gpu0" into node and port; the port is "" for "n1" and "n1+gpu".
std::pair<std::string, std::string> split_endpoint(const std::string& endpoint);
// Returns "gpu" or "host" from the name of a row of a stored matrix.
std::string memory_of_row(const std::string& endpoint);

// The rail of each port and the leaf of each node. Immutable, so that threads may share it.
class PortMap {
 public:
  // Rails are numbered in the order of PCI addresses, as the store numbers them. A leaf comes from
  // `leaves`, else from the label or the facts that the node reports.
  explicit PortMap(const std::vector<store::NodeRow>& nodes, LeafMap leaves = {});
  // The rail of the port; -1: not known.
  [[nodiscard]] std::int32_t rail(const std::string& node, const std::string& port) const;
  // The leaf switch of the node; "": not known.
  [[nodiscard]] std::string leaf(const std::string& node) const;

 private:
  std::map<std::string, std::map<std::string, std::int32_t>> rails_{};
  LeafMap leaves_{};
};

// Reads the present ports of the nodes of these names; no name: of all.
Result<PortMap> read_ports(const store::Store& store, const LeafSource& leaves,
                           const std::vector<std::string>& names = {});

// Bound of one answer's cells: nodes squared, for each rail and memory. More do not fit a message.
inline constexpr std::size_t kMaxPairCells = 50'000'000;

// The pairs that are read.
struct PairChoice {
  // Absent: all nodes.
  std::optional<std::set<std::string>> nodes{};
  std::size_t max_cells = kMaxPairCells;
};

// Chooses the series with most figures (bandwidth before latency, then the largest size) and
// arranges its figures; several figures of one pair become their median. `nodes` are the run's
// nodes, so that a node without figures is present too. kNotFound: the run has no figures of pairs.
// kInvalidArgument: too many cells.
Result<PairFigures> figures_of_points(std::string run_id, const std::vector<PairPoint>& points,
                                      const PortMap& ports,
                                      const std::vector<std::string>& nodes = {},
                                      const PairChoice& choice = {});

// Bound of one answer's points in memory, about 300 bytes each.
inline constexpr std::size_t kMaxPairPoints = 4'000'000;

// Receives a figure, which is the next one after the call; an error ends the reading.
using TakePairPoint = std::function<Status(const PairPoint& point)>;
// Passes the points that `request` matches within `scope` to `take`, one in memory at a time;
// ignores the run of the request. Returns the first error of `take`, which runs inside a reader's
// transaction and does not block.
Status visit_pair_points(const store::Store& store, const store::ExportScope& scope,
                         const api::PairsRequest& request, const TakePairPoint& take);
// The same for the run's rates that were measured too briefly to be judged (point_flags.h).
Status visit_brief_pair_points(const store::Store& store, const std::string& run_id,
                               const TakePairPoint& take);
// Reads the points that `request` matches within `scope`; ignores the run of the request.
// kInvalidArgument: more than `most` points.
Result<std::vector<PairPoint>> read_pair_points(store::Store& store,
                                                const store::ExportScope& scope,
                                                const api::PairsRequest& request,
                                                std::size_t most = kMaxPairPoints);

// A figure that a run measured to separate a suspect from its partners.
struct FollowUpPoint {
  // The nodes that send and receive.
  std::string from{};
  std::string to{};
  std::int32_t rail = 0;
  std::string memory{};
  // The word of localise::purpose_word.
  std::string purpose{};
  double value = 0;
};
// Reads the follow-up figures of the series of `figures`; empty if the run has none. kNotFound: no
// such run.
Result<std::vector<FollowUpPoint>> read_follow_ups(store::Store& store, const PairFigures& figures,
                                                   const LeafSource& leaves = {});

// Reads the figures that the request matches. kNotFound: no such run, or a run without figures of
// pairs. kInvalidArgument: too many cells, or a wrong node set.
Result<PairFigures> read_pair_figures(store::Store& store, const api::PairsRequest& request,
                                      const LeafSource& leaves = {});

}  // namespace railgauge
