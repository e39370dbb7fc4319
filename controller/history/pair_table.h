// Collects figures of pairs by rail and memory; several figures of one pair become their median. At
// 1,024 nodes and 8 rails there are 8 million figures: 12 bytes each, with names as numbers.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "controller/history/pair_figures.h"

namespace railgauge {

// The figures of one answer. Not thread safe.
class PairTable {
 public:
  // The number of a node that the choice leaves out.
  static constexpr std::int32_t kNotChosen = -1;

  // Both must outlive it.
  PairTable(const PortMap& ports, const PairChoice& choice) : ports_(ports), choice_(choice) {}

  // Adds a node that takes part, even without a figure.
  void node(const std::string& name);
  // Returns the number of a node for add(), or kNotChosen; numbers stay valid while others are
  // added. A node takes part only by a figure or by node().
  std::int32_t number(const std::string& name);
  // The number of a layer for add().
  std::size_t layer(std::int32_t rail, const std::string& memory);
  // Adds a figure, and its standard error as a fraction where that is known. Figures of nodes that
  // are not chosen are ignored.
  void add(std::size_t layer, std::int32_t from, std::int32_t to, double value, double spread = 0);

  // kInvalidArgument: more cells than one answer may have. Call it before adding many figures.
  [[nodiscard]] Status check(const std::string& run_id) const;
  // The collected data: nodes by name, layers by rail and memory. Calls check().
  Result<localise::PairData> data(const std::string& run_id) const;

 private:
  // A name, and whether any figure or call of node() made it take part.
  struct Node {
    std::string name{};
    bool takes_part = false;
  };
  // A figure between two node numbers; float, because there are millions.
  struct Figure {
    std::int32_t from = 0;
    std::int32_t to = 0;
    float value = 0;
  };
  // The figures of one rail and memory, and the standard errors that are known.
  struct Layer {
    std::vector<Figure> figures{};
    std::vector<double> spreads{};
  };

  // Adds the nodes that take part, by name, with their leaves.
  void name_nodes(localise::PairData& data) const;
  // Fills the cells of a layer. `places`: the row of each node number, -1 for none.
  void fill(const Layer& layer, const std::vector<std::int32_t>& places,
            localise::Layer& into) const;
  // Counts the node once.
  void take_part(std::int32_t number);

  const PortMap& ports_;
  const PairChoice& choice_;
  // By number.
  std::vector<Node> nodes_;
  std::map<std::string, std::int32_t> numbers_;
  std::size_t taking_part_ = 0;
  std::vector<Layer> layers_;
  std::map<std::pair<std::int32_t, std::string>, std::size_t> layer_numbers_;
};

}  // namespace railgauge
