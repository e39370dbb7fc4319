// The leaf switch of each node, for readers of stored figures, by the site's present topology.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "controller/plan/topology/site.h"
#include "controller/store/rows/rows.h"

namespace railgauge {

// Leaf by node name, without nodes of unknown leaf.
using LeafMap = std::map<std::string, std::string>;

// Finds the leaves of nodes. `facts` are the names of the facts that it looks at, besides a node's
// ports and labels.
class LeafSource {
 public:
  LeafSource() = default;
  template <class Find, class = std::invoke_result_t<Find, const std::vector<store::NodeRow>&>>
  // NOLINTNEXTLINE(google-explicit-constructor): a function is such a source
  LeafSource(Find find, std::vector<std::string> facts = {})
      : find_(std::move(find)), facts_(std::move(facts)) {}

  explicit operator bool() const { return static_cast<bool>(find_); }
  LeafMap operator()(const std::vector<store::NodeRow>& nodes) const { return find_(nodes); }
  [[nodiscard]] const std::vector<std::string>& facts() const { return facts_; }

 private:
  std::function<LeafMap(const std::vector<store::NodeRow>&)> find_{};
  std::vector<std::string> facts_{};
};

// Reads the profile's topology file each time, since the fabric may be recabled while the
// controller runs. Empty if the profile names no source, or, with a warning, if its file cannot be
// read: figures without leaves are better than none.
LeafMap leaves_of(const plan::Site& site, const std::vector<store::NodeRow>& nodes);
// The names of nodes' facts that a topology of labels may be made of; of another source none.
std::vector<std::string> facts_of_leaves(const plan::TopologySource& topology);

}  // namespace railgauge
