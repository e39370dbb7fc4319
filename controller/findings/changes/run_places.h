// Places of series: the facts that separate series that are no peers, and the stacks with which
// their figures were made. Called on worker threads.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "controller/fleet/leaf_map.h"
#include "controller/history/pair_figures.h"
#include "controller/store/store.h"

namespace railgauge {

// A snapshot of the nodes. present_stack() reads and caches epochs, so that an instance is used by
// one thread at a time.
class RunPlaces {
 public:
  // The nodes as they are known now. `store` outlives it. `leaves` gives the leaf of nodes that do
  // not report it.
  static Result<RunPlaces> of(const store::Store& store, const LeafSource& leaves);

  // The class of peers as a text that only compares equal: the hardware of its nodes, and whether
  // they are on one leaf and its ends on one rail; for more than two ends, their number. A port
  // that trained down leaves the class of its node as it is where another port of the node runs at
  // full rate.
  [[nodiscard]] std::string class_of(const store::SeriesRow& series) const;

  // The hardware of the node as a text that only compares equal; "": not known.
  [[nodiscard]] std::string hardware(const std::string& node) const;
  [[nodiscard]] std::string leaf(const std::string& node) const { return ports_.leaf(node); }
  // The rail of the port as in the run's matrices; -1: not known.
  [[nodiscard]] std::int32_t rail(const std::string& node, const std::string& port) const {
    return ports_.rail(node, port);
  }
  // The store's id of the node; "": not known.
  [[nodiscard]] std::string id(const std::string& node) const;
  // By rail: the largest present rate of its ports, in bits per second.
  [[nodiscard]] const std::vector<double>& rail_rates() const { return rail_rates_; }

  // Marks that all of the series share and the whole fabric does not: "rail 3", "leaf l1",
  // "hardware 8 NICs ...".
  [[nodiscard]] std::set<std::string> common_of(const std::vector<store::SeriesRow>& all) const;

  // For each time (unix seconds, oldest first), whether all nodes of the series had the stack and
  // the hardware of the last time. Empty: not known for some node. Fails as the store fails.
  Result<std::vector<bool>> present_stack(const store::SeriesRow& series,
                                          const std::vector<double>& times);

 private:
  // The epochs of a node, the newest first.
  struct Past {
    std::vector<double> valid_from{};
    // Whether each of them has the stack and the hardware that is compared with.
    std::vector<bool> is_present{};
  };
  // The places of the ends of some series; "" and -1 where they are not known.
  struct Places {
    std::set<std::string> hardware{};
    std::set<std::string> leaves{};
    std::set<std::int32_t> rails{};
  };
  // Adds the ends of the series.
  void add_places(const store::SeriesRow& series, Places& places) const;
  RunPlaces(const store::Store& store, PortMap ports) : store_(&store), ports_(std::move(ports)) {}
  // The epochs of the node compared with its stack at time `last`; null where none is known.
  Result<const Past*> past_of(const std::string& node, double last);

  const store::Store* store_;
  PortMap ports_;
  // The id and the hardware of each node, by name.
  std::map<std::string, std::string> ids_{};
  std::map<std::string, std::string> hardware_{};
  std::vector<double> rail_rates_{};
  // Numbers of different leaves, kinds of hardware and rails of the fabric: a mark that the whole
  // fabric shares separates nothing.
  std::size_t leaves_ = 0;
  std::size_t kinds_ = 0;
  std::size_t rails_ = 0;
  // Results of past_of(), by node and the index of its newest epoch.
  std::map<std::pair<std::string, std::size_t>, Past> pasts_{};
  std::map<std::string, std::vector<store::EpochRow>> epochs_{};
};

// The nodes as they were known a while ago, for pages: reading thousands of nodes takes a second.
// Thread safe.
class KeptRunPlaces {
 public:
  // The age up to which a reading serves further callers.
  static constexpr double kMostSeconds = 30;
  // A monotonic clock in seconds.
  using Clock = std::function<double()>;

  // `store` outlives it.
  KeptRunPlaces(const store::Store& store, LeafSource leaves, Clock clock = {});
  // `newest`: the newest finding that the places are for; another one than that of the reading
  // before is placed by a new reading. Callers that come together wait for one. Fails as the store
  // fails.
  Result<std::shared_ptr<const RunPlaces>> get(const std::string& newest);

 private:
  const store::Store& store_;
  const LeafSource leaves_;
  std::mutex mutex_;
  const Clock clock_;
  std::shared_ptr<const RunPlaces> kept_{};
  std::string newest_{};
  double read_seconds_ = 0;
};

}  // namespace railgauge
