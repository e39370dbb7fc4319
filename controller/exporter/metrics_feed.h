// Reads from the database the metrics that Prometheus scrapes. A worker reads every few seconds; a
// scrape never reads. The state that an earlier controller left is read before the first scrape, so
// that a restart neither ends an alert nor starts it again.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/exporter/scrape_targets.h"
#include "controller/fleet/leaf_map.h"
#include "controller/metric/controller_metrics.h"
#include "controller/store/data_mark.h"
#include "controller/store/store.h"

namespace railgauge {

struct PairFigures;

// Returns the `count` slowest pairs of all layers, slowest first. Pure.
std::vector<WorstPair> worst_pairs(const PairFigures& figures, std::size_t count);

// Returns median and worst percentile of the pairs of each rail and memory, separately for nodes on
// one leaf and on two. Latencies are in seconds. Pure.
std::vector<RailFigure> rail_figures(const PairFigures& figures);

// Copies values of the database into the metrics. restore() and update() are called by one worker;
// known_nodes() may be called from any thread. A query that fails is logged and changes nothing.
class MetricsFeed {
 public:
  static constexpr double kKnownNodeSeconds = 7 * 24 * 3600;  // then a node is forgotten

  // Metrics and store outlive it. `matrices_written` returns a number that grows whenever a run's
  // matrices were written; then they are read anew. Without it, they are read anew only when
  // another run has matrices.
  MetricsFeed(Metrics& metrics, store::Store& store, std::string database_path,
              LeafSource leaves = {}, std::function<std::uint64_t()> matrices_written = {})
      : metrics_(metrics),
        store_(store),
        database_path_(std::move(database_path)),
        leaves_(std::move(leaves)),
        matrices_written_(std::move(matrices_written)) {}

  // Sets runs of earlier controllers and all quickly read values; call before the first scrape.
  void restore(double now);
  // Sets all values. The figures of pairs come from the newest run with stored matrices, which are
  // written at once and complete, while a run may have millions of points.
  void update(double now);
  // Names of nodes that attached within a week before the last update(), from any thread.
  [[nodiscard]] std::shared_ptr<const std::vector<std::string>> known_nodes() const;
  // Where the agents of nodes are that attached within a week before the first update(), by name;
  // nullptr before it. From any thread.
  [[nodiscard]] std::shared_ptr<const std::map<std::string, ScrapeTarget>> stored_targets() const;

 private:
  // Each of these reads one topic; `now` is unix seconds. Called with updating_ held.
  void update_quick(double now);
  void update_store();
  void update_findings(double now);
  void update_repeats(double now);
  void update_schedules(double now);
  std::optional<double> pause_of(const store::ScheduleRow& row, double now);
  void update_known_nodes(double now);
  void read_stored_targets(double now);
  void update_pairs();

  Metrics& metrics_;
  store::Store& store_;
  store::DataMark data_mark_{store_};
  const std::string database_path_;
  const LeafSource leaves_;
  const std::function<std::uint64_t()> matrices_written_;
  // Run whose pairs are exported, and the value of matrices_written_ at that time.
  std::optional<std::pair<std::string, std::uint64_t>> shown_{};
  // The last result of longest_pause() for a schedule, the settings it was computed from, and the
  // unix time until which it is used.
  struct Pause {
    std::string words{};
    std::optional<double> seconds{};
    double until = 0;
  };
  std::map<std::string, Pause> pauses_{};
  double repeats_stand_until_ = 0;  // unix seconds
  std::mutex updating_;             // one update at a time
  mutable std::mutex mutex_;        // of known_nodes_ and stored_targets_
  std::shared_ptr<const std::vector<std::string>> known_nodes_ =
      std::make_shared<const std::vector<std::string>>();
  std::shared_ptr<const std::map<std::string, ScrapeTarget>> stored_targets_{};
};

}  // namespace railgauge
