#include "controller/localise/retest/suspects_followup.h"

#include <algorithm>
#include <set>

#include "controller/localise/localise_cells.h"

namespace railgauge::localise {
namespace {

constexpr std::size_t kPartnersInLeaf = 2;
constexpr std::size_t kPartnersElsewhere = 1;
constexpr std::size_t kPartnersWithoutLeaves = 3;
constexpr std::size_t kRepeats = 8;  // of a flow over what only some flows meet

bool is_of_node(const Element& element) {
  return element.kind == Kind::kPort || element.kind == Kind::kNode;
}

class Planner {
 public:
  Planner(const PairData& data, const Localisation& found)
      : data_(data), found_(found), topology_(data), good_(data.nodes.size(), true) {
    for (const std::int32_t node : found.unmeasured_nodes) good_[at(node)] = false;
    for (const Suspect& suspect : found.suspects) distrust(suspect.element);
    for (const Layer& layer : data.layers) {
      rails_.insert(layer.rail);
      memories_.insert(layer.memory);
    }
  }

  std::vector<FollowUp> plan() {
    for (suspect_ = 0; suspect_ < found_.suspects.size(); ++suspect_) {
      first_ = plan_.size();
      const Element& element = found_.suspects[suspect_].element;
      if (is_of_node(element))
        of_node(element);
      else if (element.kind == Kind::kPair)
        of_pair(element);
      else
        of_group(element);
    }
    return std::move(plan_);
  }

 private:
  static std::size_t at(std::int32_t node) { return static_cast<std::size_t>(node); }
  [[nodiscard]] std::int32_t leaf_of(std::int32_t node) const {
    return topology_.leaf_of[at(node)];
  }

  void distrust(const Element& element) {
    if (is_of_node(element) || element.kind == Kind::kPair) {
      good_[at(element.first)] = false;
      if (element.second >= 0) good_[at(element.second)] = false;
    }
    if (element.kind != Kind::kLeaf) return;
    for (const std::int32_t node : topology_.members[at(element.first)]) good_[at(node)] = false;
  }

  // Known-good nodes for which `wanted` holds, beginning at another one for each suspect.
  template <class Wanted>
  std::vector<std::int32_t> good_nodes(std::size_t most, Wanted wanted) const {
    std::vector<std::int32_t> nodes;
    const std::size_t n = data_.nodes.size();
    for (std::size_t k = 0; k < n && nodes.size() < most; ++k) {
      const auto node = static_cast<std::int32_t>((k + suspect_ * 7) % n);
      if (good_[at(node)] && wanted(node)) nodes.push_back(node);
    }
    return nodes;
  }

  void ask(Purpose purpose, std::int32_t from, std::int32_t to, std::int32_t rail,
           const std::string& memory) {
    if (plan_.size() - first_ < kMaxFollowUpsOfSuspect)
      plan_.push_back({suspect_, purpose, from, to, rail, memory});
  }
  void ask_directions(Purpose purpose, const Element& element, std::int32_t partner,
                      std::int32_t rail, const std::string& memory) {
    if (element.direction != Direction::kReceives)
      ask(purpose, element.first, partner, rail, memory);
    if (element.direction != Direction::kSends) ask(purpose, partner, element.first, rail, memory);
  }
  [[nodiscard]] std::vector<std::int32_t> rails_of(const Element& element) const {
    if (element.rail >= 0) return {element.rail};
    return {rails_.begin(), rails_.end()};
  }

  void of_node(const Element& element) {
    const std::int32_t leaf = leaf_of(element.first);
    const bool known = topology_.has_leaves;
    const auto near = good_nodes(known ? kPartnersInLeaf : 0,
                                 [&](std::int32_t node) { return leaf_of(node) == leaf; });
    const auto far = good_nodes(known ? kPartnersElsewhere : kPartnersWithoutLeaves,
                                [&](std::int32_t node) { return !known || leaf_of(node) != leaf; });
    for (const std::int32_t rail : rails_of(element))
      for (const std::string& memory : memories_) {
        for (const std::int32_t partner : near)
          ask_directions(Purpose::kSameLeaf, element, partner, rail, memory);
        for (const std::int32_t partner : far)
          ask_directions(Purpose::kElsewhere, element, partner, rail, memory);
        if (memory != "gpu" || (near.empty() && far.empty())) continue;
        ask_directions(Purpose::kOtherGpu, element, near.empty() ? far[0] : near[0], rail, memory);
      }
  }

  void of_pair(const Element& element) {
    const auto others = good_nodes(2, [](std::int32_t) { return true; });
    for (const std::int32_t rail : rails_of(element))
      for (const std::string& memory : memories_) {
        ask_directions(Purpose::kAgain, element, element.second, rail, memory);
        for (const std::int32_t other : others) {
          ask(Purpose::kControl, element.first, other, rail, memory);
          ask(Purpose::kControl, other, element.second, rail, memory);
        }
      }
  }

  // Pairs over the element whose nodes are under no suspicion of their own, and, of a whole leaf,
  // whose other end is elsewhere.
  void of_group(const Element& element) {
    const auto inside = members(element);
    const auto outside = good_nodes(4, [&](std::int32_t node) {
      if (element.kind == Kind::kTrunk) return leaf_of(node) == element.second;
      return element.first < 0 || leaf_of(node) != element.first;
    });
    const bool some = element.intermittent;
    const std::int32_t rail = element.rail >= 0 ? element.rail : *rails_.begin();
    for (std::size_t i = 0; i < (some ? kRepeats : kPartnersInLeaf); ++i) {
      if (inside.empty() || outside.empty()) return;
      const std::int32_t a = inside[i % inside.size()];
      const std::int32_t b = outside[(i + (element.first < 0 ? 1 : 0)) % outside.size()];
      if (a == b) continue;
      for (const std::string& memory : memories_) {
        if (element.direction != Direction::kReceives) ask(Purpose::kAgain, a, b, rail, memory);
        if (element.direction != Direction::kSends) ask(Purpose::kAgain, b, a, rail, memory);
      }
    }
  }

  [[nodiscard]] std::vector<std::int32_t> members(const Element& element) const {
    if (element.kind == Kind::kLeaf) {
      std::vector<std::int32_t> nodes = topology_.members[at(element.first)];
      if (nodes.size() > 2) nodes.resize(2);
      return nodes;
    }
    return good_nodes(
        4, [&](std::int32_t node) { return element.first < 0 || leaf_of(node) == element.first; });
  }

  const PairData& data_;
  const Localisation& found_;
  const Topology topology_;
  std::vector<bool> good_;
  std::set<std::int32_t> rails_;
  std::set<std::string> memories_;
  std::vector<FollowUp> plan_;
  std::size_t suspect_ = 0;
  std::size_t first_ = 0;  // of the suspect in the plan
};

}  // namespace

std::string_view purpose_word(Purpose purpose) {
  switch (purpose) {
    case Purpose::kSameLeaf:
      return "same leaf";
    case Purpose::kElsewhere:
      return "elsewhere";
    case Purpose::kOtherGpu:
      return "other GPU";
    case Purpose::kAgain:
      return "again";
    case Purpose::kControl:
      return "control";
  }
  return "";
}

std::vector<FollowUp> follow_ups(const PairData& data, const Localisation& found) {
  return Planner(data, found).plan();
}

}  // namespace railgauge::localise
