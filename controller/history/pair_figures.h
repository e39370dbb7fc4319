// The figures of a run's pairs, by node, rail and memory, as localisation and heat maps take them:
// from stored matrices where the run has some, else from its points.
#pragma once

#include <compare>
#include <cstdint>
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
#include "controller/store/store.h"

namespace railgauge {

// One kernel's metric at one size, of which a run has figures of pairs.
struct PairSeries {
  std::string kernel{};
  std::string metric{};
  std::string meaning{};
  std::string unit{};
  double message_bytes = 0;
  bool larger_is_better = false;
  auto operator<=>(const PairSeries&) const = default;
};

struct PairFigures {
  std::string run_id{};
  PairSeries series{};
  std::vector<PairSeries> others{};  // that the request would have matched too, by figures
  localise::PairData data{};
  double across_rails = 0;  // figures between two rails, which are in no layer
};

// A point as far as it is a pair's figure.
struct PairPoint {
  PairSeries series{};
  std::string from{};  // "node/DEV:PORT", where the data goes out
  std::string to{};
  std::string memory{};  // "host", "gpu"
  double value = 0;
  double spread = 0;  // standard error of the value by its own samples, as a share; 0: not known
  bool synthetic = false;
};
// False: a loopback, a collective, what follows a suspect up (it would count twice), both
// directions' sum, several rails together, a task that was not measured to its end. A figure beyond
// a limit of the suite is one: nothing shows a slow part as well.
bool pair_point_of(const store::ResultRow& row, PairPoint& point);
// How a stored matrix names the row of an end without a port, of memory "gpu".
inline constexpr std::string_view kGpuRow = "+gpu";
// "n1/mlx5_0:1+gpu0" to node and port; "n1" and "n1+gpu" to the node and no port.
std::pair<std::string, std::string> split_endpoint(const std::string& endpoint);
// "gpu" or "host", of a row of a stored matrix.
std::string memory_of_row(const std::string& endpoint);

// The rail of each port and the leaf of each node: from `leaves`, else as the nodes reported.
class PortMap {
 public:
  explicit PortMap(const std::vector<store::NodeRow>& nodes, LeafMap leaves = {});
  // -1: not known.
  [[nodiscard]] std::int32_t rail(const std::string& node, const std::string& port) const;
  [[nodiscard]] std::string leaf(const std::string& node) const;  // "": unknown

 private:
  std::map<std::string, std::map<std::string, std::int32_t>> rails_{};
  LeafMap leaves_{};
};

// The ports of the nodes as they are known now.
Result<PortMap> read_ports(const store::Store& store, const LeafSource& leaves);

// More cells (nodes squared, by rail and memory) are refused: they would not fit an answer.
inline constexpr std::size_t kMaxPairCells = 50'000'000;

// Which pairs are looked at.
struct PairChoice {
  std::optional<std::set<std::string>> nodes{};  // absent: all
  std::size_t max_cells = kMaxPairCells;
};

// The series with most figures (of bandwidth, where there is some; of several, the largest size),
// several figures of one pair as their median. kNotFound: the run has no figures of pairs.
// `nodes`: that took part, so that one without a single figure is there too. kInvalidArgument: too
// many cells.
Result<PairFigures> figures_of_points(std::string run_id, const std::vector<PairPoint>& points,
                                      const PortMap& ports,
                                      const std::vector<std::string>& nodes = {},
                                      const PairChoice& choice = {});

// Some 300 bytes each in memory.
inline constexpr std::size_t kMaxPairPoints = 4'000'000;

// Those that `request` matches; its run is not looked at. kInvalidArgument: more than `most`.
Result<std::vector<PairPoint>> read_pair_points(store::Store& store,
                                                const store::ExportScope& scope,
                                                const api::PairsRequest& request,
                                                std::size_t most = kMaxPairPoints);

// A figure that a run measured to separate a suspect from its partners.
struct FollowUpPoint {
  std::string from{};  // node
  std::string to{};
  std::int32_t rail = 0;
  std::string memory{};
  std::string purpose{};  // localise::purpose_word
  double value = 0;
};
// Follow-up figures of the series of `figures`; none where the run followed nothing up. kNotFound:
// no such run.
Result<std::vector<FollowUpPoint>> read_follow_ups(store::Store& store, const PairFigures& figures,
                                                   const LeafSource& leaves = {});

// kNotFound: no such run, or nothing of it is a pair's figure; kInvalidArgument: too many cells.
Result<PairFigures> read_pair_figures(store::Store& store, const api::PairsRequest& request,
                                      const LeafSource& leaves = {});

}  // namespace railgauge
