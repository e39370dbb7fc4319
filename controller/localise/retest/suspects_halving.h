// Which members make a collective slow: the group is halved where it fails, and where both halves
// pass, mixed halves say which parts fail only together. Each node that is called bad failed with
// two different known-good partners. Pure; driven from outside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge::localise {

using NodeGroup = std::vector<std::int32_t>;

class GroupHalving {
 public:
  struct Test {
    std::uint32_t id = 0;
    NodeGroup nodes{};  // sorted; at least 2
  };
  struct Verdict {
    NodeGroup bad{};  // failed with two different known-good partners
    // Each passes alone, together they fail: the fault is in between.
    std::vector<std::pair<NodeGroup, NodeGroup>> boundaries{};
    // No known-good partner was left, the tests ran out, or theirs was not measured. Sorted.
    NodeGroup unresolved{};
    std::size_t tests = 0;         // reported so far
    std::size_t not_measured = 0;  // of these
  };
  static constexpr std::size_t kMaxTests = 1'024;

  // Fewer than 2 nodes: finished at once. Nodes are distinct.
  explicit GroupHalving(NodeGroup nodes);

  // Tests that may run now, all at the same time: no node is in two of them. Empty while those
  // given out before wait for their report; empty and finished() when all is said.
  std::vector<Test> next();
  // kNotMeasured: it never ran (waived, cancelled), which accuses nobody; what crashed or hung has
  // failed. kInvalidArgument: no such test is out.
  enum class Answer : std::uint8_t { kPassed, kFailed, kNotMeasured };
  Status report(std::uint32_t id, Answer answer);
  [[nodiscard]] bool finished() const { return cases_.empty(); }
  [[nodiscard]] const Verdict& verdict() const { return verdict_; }

 private:
  // The questions asked at once, and the step that follows when all are answered.
  struct Case {
    enum class Kind { kWhole, kHalves, kMixed, kAlone } kind = Kind::kWhole;
    NodeGroup left{};   // whole: all; alone: the node
    NodeGroup right{};  // whole: none; alone: known-good partners that it failed with
    std::map<std::uint32_t, std::pair<NodeGroup, NodeGroup>> waiting{};  // by test: its two parts
    std::vector<std::pair<NodeGroup, NodeGroup>> failed{};
    NodeGroup not_measured{};
  };
  struct Pending {
    Test test{};
    std::size_t of_case = 0;
    bool wants_partner = false;  // of one node: a known-good one is to be added
    NodeGroup not_with{};
    bool out = false;
  };

  void open_whole(NodeGroup group);
  void open_halves(const NodeGroup& group);
  void open_mixed(const NodeGroup& left, const NodeGroup& right);
  void open_alone(std::int32_t node, const NodeGroup& failed_with);
  void ask(std::size_t of_case, NodeGroup left, NodeGroup right, NodeGroup not_with = {});
  void resolve(std::size_t id);
  void leave_open(const NodeGroup& nodes);
  void give_up();
  bool add_partner(Pending& pending, const std::set<std::int32_t>& busy) const;

  std::map<std::size_t, Case> cases_;
  std::map<std::uint32_t, Pending> pending_;
  std::set<std::int32_t> good_;
  Verdict verdict_;
  std::size_t next_case_ = 0;
  std::uint32_t next_test_ = 1;
};

}  // namespace railgauge::localise
