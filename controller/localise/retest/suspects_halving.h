// Search for the members that make a collective fail. A failing group is halved; if both halves
// pass, tests of mixed halves find parts that fail only together. Each node that is called bad
// failed with two different known-good partners. Pure; the caller runs the tests.
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

// The search in one group. The caller runs the tests from next() and reports each of them once, in
// any order. Not thread safe.
class GroupHalving {
 public:
  struct Test {
    std::uint32_t id = 0;
    // Sorted; at least two nodes.
    NodeGroup nodes{};
  };
  // The result so far; complete when finished() is true.
  struct Verdict {
    // Nodes that failed with two different known-good partners.
    NodeGroup bad{};
    // Two groups that pass alone and fail together: the fault is between them.
    std::vector<std::pair<NodeGroup, NodeGroup>> boundaries{};
    // Nodes without an answer, sorted: no known-good partner was left, the tests ran out, a test
    // was not measured, or the node passed with its second partner.
    NodeGroup unresolved{};
    // Number of tests that were reported.
    std::size_t tests = 0;
    // Number of reported tests without a measurement.
    std::size_t not_measured = 0;
  };
  // Bound of the tests; beyond it, open nodes become unresolved.
  static constexpr std::size_t kMaxTests = 1'024;

  // Starts the search among distinct nodes; finished at once for fewer than 2 nodes.
  explicit GroupHalving(NodeGroup nodes);

  // Returns tests that may run at the same time: no node is in two of them. May be empty while
  // earlier tests have no report; empty with finished() when the search is over.
  std::vector<Test> next();
  // Reports the result of a test. kNotMeasured: the test never ran (waived, cancelled) and accuses
  // no node; a test that crashed or hung is kFailed. kInvalidArgument: no such test is under way.
  enum class Answer : std::uint8_t { kPassed, kFailed, kNotMeasured };
  Status report(std::uint32_t id, Answer answer);
  [[nodiscard]] bool finished() const { return cases_.empty(); }
  [[nodiscard]] const Verdict& verdict() const { return verdict_; }

 private:
  // The questions asked at once, and the step that follows when all are answered.
  struct Case {
    enum class Kind { kWhole, kHalves, kMixed, kAlone } kind = Kind::kWhole;
    // Whole: all; alone: the node.
    NodeGroup left{};
    // Whole: none; alone: known-good partners that it failed with.
    NodeGroup right{};
    // By test: the two parts that it joins.
    std::map<std::uint32_t, std::pair<NodeGroup, NodeGroup>> waiting{};
    std::vector<std::pair<NodeGroup, NodeGroup>> failed{};
    NodeGroup not_measured{};
  };
  // A test that was asked for and has no report yet.
  struct Pending {
    Test test{};
    std::size_t of_case = 0;
    // True for a test of one node: a known-good partner must be added first.
    bool wants_partner = false;
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
