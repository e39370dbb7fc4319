// Places of series: the facts that separate series that are no peers, and the stacks that their
// figures were made with.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "controller/fleet/leaf_map.h"
#include "controller/history/pair_figures.h"
#include "controller/store/store.h"

namespace railgauge {

class RunPlaces {
 public:
  // The nodes as they are known now. `store` outlives it.
  static Result<RunPlaces> of(const store::Store& store, const LeafSource& leaves);

  // The hardware of its nodes, and whether they are on one leaf and its ends on one rail; of more
  // than two ends how many they are. A port that trained down leaves its node's class as it is
  // where another port of it runs at full rate.
  [[nodiscard]] std::string class_of(const store::SeriesRow& series) const;

  // Marks that all of the series share and the whole fabric does not: "rail 3", "leaf l1",
  // "hardware 8 NICs ...".
  [[nodiscard]] std::set<std::string> common_of(const std::vector<store::SeriesRow>& all) const;

  // For each time (unix seconds, oldest first), whether all nodes of the series had the stack and
  // the hardware of the last time. Empty: unknown for some node.
  Result<std::vector<bool>> present_stack(const store::SeriesRow& series,
                                          const std::vector<double>& times);

 private:
  struct Past {  // of a node
    std::vector<double> valid_from{};
    std::vector<bool> is_present{};  // of each of these epochs; newest first
  };
  struct Places {  // of the ends of some series; "" and -1 where they are not known
    std::set<std::string> hardware{};
    std::set<std::string> leaves{};
    std::set<std::int32_t> rails{};
  };
  void add_places(const store::SeriesRow& series, Places& places) const;
  RunPlaces(const store::Store& store, PortMap ports) : store_(&store), ports_(std::move(ports)) {}
  Result<const Past*> past_of(const std::string& node, double last);

  const store::Store* store_;
  PortMap ports_;
  std::map<std::string, std::string> ids_{};  // by name
  std::map<std::string, std::string> hardware_{};
  std::size_t leaves_ = 0;  // how many different ones there are
  std::size_t kinds_ = 0;   // of hardware
  std::size_t rails_ = 0;
  std::map<std::pair<std::string, std::size_t>, Past> pasts_{};  // by node and its newest epoch
  std::map<std::string, std::vector<store::EpochRow>> epochs_{};
};

}  // namespace railgauge
