// Collects figures of pairs by rail and kind of memory; several of one pair become their median. At
// 1,024 nodes and 8 rails there are 8 million of them: 12 bytes each, names by number.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "controller/history/pair_figures.h"

namespace railgauge {

class PairTable {
 public:
  static constexpr std::int32_t kNotChosen = -1;

  // Both must outlive it.
  PairTable(const PortMap& ports, const PairChoice& choice) : ports_(ports), choice_(choice) {}

  // The node takes part, though it may have no figure.
  void node(const std::string& name);
  // The number of a node for add(); numbers of other nodes and layers stay. A name alone does not
  // take part.
  std::int32_t number(const std::string& name);
  std::size_t layer(std::int32_t rail, const std::string& memory);
  // A figure, and its standard error as a share where that is known. Figures of nodes that are not
  // chosen are left out.
  void add(std::size_t layer, std::int32_t from, std::int32_t to, double value, double spread = 0);

  // kInvalidArgument: more cells than one answer may have. Call it before adding many figures.
  [[nodiscard]] Status check(const std::string& run_id) const;
  // Nodes by name, layers by rail and memory; calls check().
  Result<localise::PairData> data(const std::string& run_id) const;

 private:
  struct Node {
    std::string name{};
    bool takes_part = false;
  };
  struct Figure {
    std::int32_t from = 0;
    std::int32_t to = 0;
    float value = 0;
  };
  struct Layer {
    std::vector<Figure> figures{};
    std::vector<double> spreads{};
  };

  void name_nodes(localise::PairData& data) const;
  void fill(const Layer& layer, const std::vector<std::int32_t>& places,
            localise::Layer& into) const;
  void take_part(std::int32_t number);

  const PortMap& ports_;
  const PairChoice& choice_;
  std::vector<Node> nodes_;  // by number
  std::map<std::string, std::int32_t> numbers_;
  std::size_t taking_part_ = 0;
  std::vector<Layer> layers_;
  std::map<std::pair<std::int32_t, std::string>, std::size_t> layer_numbers_;
};

}  // namespace railgauge
