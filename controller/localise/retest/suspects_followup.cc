#include "controller/localise/retest/suspects_followup.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <map>
#include <set>

#include <fmt/format.h>

#include "controller/localise/localise_cells.h"
#include "controller/localise/localise_report.h"
#include "kernels/core/base/lookup.h"

namespace railgauge::localise {
namespace {

constexpr std::size_t kPartnersInLeaf = 2;
constexpr std::size_t kPartnersElsewhere = 1;
constexpr std::size_t kPartnersWithoutLeaves = 3;
// Repetitions of a flow over an element that only some flows meet.
constexpr std::size_t kRepeats = 8;

// Chooses partners that no suspicion touches. Starts at another node for each suspect, so that
// partners are spread over the fabric.
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

  // Excludes the nodes of a suspect from the partners.
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

  // Adds a task, up to the bound of the suspect.
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

  // Tests a node with near and far partners, from each memory kind, and from another GPU.
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

  // Repeats the pair, and tests both ends with other partners as controls.
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
  // Index in the plan of the current suspect's first task.
  std::size_t first_ = 0;
};

}  // namespace

std::string_view purpose_word(Purpose purpose) {
  static constexpr std::array<std::string_view, 5> kWords{"same leaf", "elsewhere", "other GPU",
                                                          "again", "control"};
  return kWords.at(static_cast<std::size_t>(purpose));
}

std::vector<FollowUp> follow_ups(const PairData& data, const Localisation& found) {
  return Planner(data, found).plan();
}

// The meaning of the answers to follow-ups.

namespace {

// With how many different partners it was slow, of how many that gave a figure.
struct Tally {
  std::set<std::int32_t> slow{};
  std::set<std::int32_t> fine{};
  void add(std::int32_t partner, bool is_slow) { (is_slow ? slow : fine).insert(partner); }
  [[nodiscard]] std::size_t partners() const {
    std::set<std::int32_t> all = slow;
    all.insert(fine.begin(), fine.end());
    return all.size();
  }
};

// Collects the results of all follow-ups, then judges each suspect once.
class Judge {
 public:
  Judge(const PairData& data, const Localisation& found)
      : data_(data), found_(found), cells_(data, Options{}) {
    for (std::size_t l = 0; l < data.layers.size(); ++l)
      layers_[{data.layers[l].rail, data.layers[l].memory}] = l;
  }

  // A result without a figure is counted as asked, and as nothing else.
  void take(const FollowUpResult& result) {
    if (result.asked.suspect >= found_.suspects.size()) return;
    asked_.insert(result.asked.suspect);
    const auto layer = layers_.find({result.asked.rail, result.asked.memory});
    if (!result.value || layer == layers_.end()) return;
    const Suspect& suspect = found_.suspects[result.asked.suspect];
    const double expected = cells_.expected(layer->second, result.asked.from, result.asked.to);
    const double share = *result.value / expected;
    const double worse = data_.model == Model::kMinimum ? 1 - share : share - 1;
    const bool slow = worse > std::max(suspect.drop / 2, Options{}.least_drop);
    const bool from_first = result.asked.from == suspect.element.first;
    const std::int32_t partner = from_first ? result.asked.to : result.asked.from;
    auto& tallies = tallies_[result.asked.suspect];
    tallies[{result.asked.purpose, result.asked.memory}].add(partner, slow);
    // A pair once more has no other partner: each task counts.
    ++(slow ? slow_tasks_ : fine_tasks_)[{result.asked.suspect, result.asked.purpose}];
  }

  std::vector<Retest> judge() const {
    std::vector<Retest> retests;
    for (const std::size_t index : asked_) {
      Retest& retest = retests.emplace_back();
      retest.suspect = index;
      retest.element = found_.suspects[index].element;
      std::string why;
      if (is_of_node(retest.element))
        why = of_node(retest);
      else if (retest.element.kind == Kind::kPair)
        why = of_pair(retest);
      else
        why = of_group(retest);
      retest.sentence = fmt::format("{}: {}: {}", name_of(data_, retest.element),
                                    answer_word(retest.answer), why);
    }
    return retests;
  }

 private:
  // Counts follow-ups with one of these purposes and that memory; "": with any.
  [[nodiscard]] Tally tally(std::size_t suspect, std::initializer_list<Purpose> purposes,
                            std::string_view memory) const {
    Tally sum;
    const auto of = tallies_.find(suspect);
    if (of == tallies_.end()) return sum;
    for (const auto& [key, each] : of->second) {
      if (std::ranges::find(purposes, key.first) == purposes.end() ||
          (!memory.empty() && key.second != memory))
        continue;
      sum.slow.insert(each.slow.begin(), each.slow.end());
      sum.fine.insert(each.fine.begin(), each.fine.end());
    }
    return sum;
  }
  // With all known-good partners.
  [[nodiscard]] Tally tally(std::size_t suspect, std::string_view memory) const {
    return tally(suspect, {Purpose::kSameLeaf, Purpose::kElsewhere}, memory);
  }
  [[nodiscard]] std::size_t count(const std::map<std::pair<std::size_t, Purpose>, std::size_t>& of,
                                  std::size_t suspect, Purpose purpose) const {
    return value_of(of, std::pair(suspect, purpose));
  }

  // Two slow partners confirm. Near partners that are fine clear the node and leave the way out of
  // the leaf.
  std::string of_node(Retest& retest) const {
    const std::size_t s = retest.suspect;
    const Tally near = tally(s, {Purpose::kSameLeaf}, "");
    const Tally all = tally(s, "");
    if (all.partners() < 2) return "fewer than two partners gave a figure";
    if (all.slow.empty()) {
      retest.answer = Answer::kCleared;
      return fmt::format("as expected with all of {} known-good partners", all.partners());
    }
    if (all.slow.size() < 2) {
      if (near.slow.empty() && near.partners() >= 2) {
        retest.answer = Answer::kCleared;
        return "slow only to the other leaf: the way out of the leaf, not the node";
      }
      return fmt::format("slow with {} alone: that partner or the path between them",
                         data_.nodes[static_cast<std::size_t>(*all.slow.begin())]);
    }
    retest.answer = Answer::kConfirmed;
    return by_memory(retest);
  }

  // A confirmed node: host memory that is fine moves the suspicion from the NIC to the path of the
  // GPU.
  std::string by_memory(Retest& retest) const {
    const std::size_t s = retest.suspect;
    const std::size_t host = tally(s, "host").slow.size();
    const std::size_t gpu = tally(s, "gpu").slow.size();
    if (host >= 2 || (gpu == 0 && host > 0)) {
      retest.element.memory = "";
      return "slow from host memory too, with two different partners: NIC, cable, port or slot";
    }
    if (gpu < 2) return "slow with two different partners";
    retest.element.memory = "gpu";
    const Tally other = tally(s, {Purpose::kOtherGpu}, "gpu");
    const bool has_host = tally(s, "host").partners() > 0;
    if (!has_host) return without_host(other);
    if (other.partners() == 0)
      return "host memory is as expected, GPU memory is not: the path between GPU and NIC";
    return other.slow.empty()
               ? "host memory and another GPU on the same NIC are as expected: this GPU's path"
               : "host memory is as expected, another GPU on the same NIC is slow too: what the "
                 "GPUs share before the NIC (PCIe switch, ACS, peer memory)";
  }

  // Nothing is said of what was not measured.
  static std::string without_host(const Tally& other) {
    if (other.partners() == 0)
      return "slow from GPU memory with two different partners; host memory was not measured";
    return other.slow.empty()
               ? "another GPU on the same NIC is as expected: this GPU's path"
               : "another GPU on the same NIC is slow too: what the GPUs share before the NIC, or "
                 "the NIC itself; host memory was not measured";
  }

  // Slow controls accuse the ends, not the path.
  std::string of_pair(Retest& retest) const {
    const std::size_t s = retest.suspect;
    const std::size_t slow = count(slow_tasks_, s, Purpose::kAgain);
    const std::size_t fine = count(fine_tasks_, s, Purpose::kAgain);
    const std::size_t control_slow = count(slow_tasks_, s, Purpose::kControl);
    if (slow + fine == 0) return "no figure came back";
    if (slow == 0) {
      retest.answer = Answer::kCleared;
      return fmt::format("as expected in {} new tasks", fine);
    }
    if (control_slow >= 2) return "its ends are slow with others too: look at the ends first";
    // The earlier failure is the other one.
    if (slow < fine) return fmt::format("slow in {} of {} new tasks", slow, slow + fine);
    retest.answer = Answer::kConfirmed;
    return fmt::format("slow again in {} of {} new tasks, both ends are as expected with others",
                       slow, slow + fine);
  }

  // Two slow repetitions confirm; an intermittent element is never cleared by a few fine tasks.
  std::string of_group(Retest& retest) const {
    const std::size_t slow = count(slow_tasks_, retest.suspect, Purpose::kAgain);
    const std::size_t fine = count(fine_tasks_, retest.suspect, Purpose::kAgain);
    if (slow + fine < 2) return "fewer than two figures came back";
    if (slow == 0 && !retest.element.intermittent) retest.answer = Answer::kCleared;
    if (slow >= 2 && (retest.element.intermittent || slow > fine))
      retest.answer = Answer::kConfirmed;
    return fmt::format("slow in {} of {} new tasks", slow, slow + fine);
  }

  const PairData& data_;
  const Localisation& found_;
  const Cells cells_;
  std::map<std::pair<std::int32_t, std::string>, std::size_t> layers_;
  std::set<std::size_t> asked_;
  std::map<std::size_t, std::map<std::pair<Purpose, std::string>, Tally>> tallies_;
  std::map<std::pair<std::size_t, Purpose>, std::size_t> slow_tasks_;
  std::map<std::pair<std::size_t, Purpose>, std::size_t> fine_tasks_;
};

}  // namespace

std::string_view answer_word(Answer answer) {
  static constexpr std::array<std::string_view, 3> kWords{"confirmed", "cleared", "inconclusive"};
  return kWords.at(static_cast<std::size_t>(answer));
}

std::vector<Retest> judge_follow_ups(const PairData& data, const Localisation& found,
                                     std::span<const FollowUpResult> results) {
  Judge judge(data, found);
  for (const FollowUpResult& result : results) judge.take(result);
  return judge.judge();
}

}  // namespace railgauge::localise
