// Tasks that a run adds after its rounds, if its suite asks for it: each suspect with known-good
// partners, and each failed group by halves. wanted_pairs() reads the store; DrillDown is pure.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "controller/fleet/leaf_map.h"
#include "controller/localise/retest/suspects_halving.h"
#include "controller/plan/follow_up.h"
#include "controller/plan/task_book.h"
#include "controller/store/store.h"

namespace railgauge {

inline constexpr std::size_t kMaxFollowUps = 256;  // pairs, of a run

// Finds the pairs to retest for the suspects in a run's stored figures. For a scheduled run it adds
// a twentieth of its pairs, drawn by lot, which are measured a second time. Empty without figures
// of pairs. Blocks on the store.
Result<std::vector<plan::WantedPair>> wanted_pairs(store::Store& store, const std::string& run_id,
                                                   const LeafSource& leaves);

// The state of the follow-up of one run. Not thread safe.
class DrillDown {
 public:
  // The outcome of a task of the plan, by its index; "": it has not ended.
  using OutcomeOf = std::function<std::string_view(std::size_t index)>;

  [[nodiscard]] bool has_begun() const { return begun_; }
  // Returns the tasks to append to `plan` when all its tasks have ended. `pairs`, and the planned
  // tasks that they are made of, are used by the first call only. None: the follow-up is complete.
  std::vector<plan::PlannedTask> next(const plan::TaskBook& plan, const OutcomeOf& outcome_of,
                                      std::span<const plan::WantedPair> pairs,
                                      const plan::PlannedPairs& planned = {},
                                      const plan::NodeOf& node_of = {});
  // The result for each group that failed, one line each.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

 private:
  // A group that failed, and the search for the nodes that made it fail.
  struct FailedGroup {
    std::size_t whole = 0;             // its task in the plan
    std::vector<std::string> nodes{};  // by number
    localise::GroupHalving search;
    std::map<std::size_t, std::uint32_t> out{};  // tests under way, by task
    bool is_noted = false;                       // its result is in notes_
  };
  void find_failed_groups(const plan::TaskBook& plan, const OutcomeOf& outcome_of);
  // Reports the results of the tests under way, and adds the next tests to `tasks`.
  void advance(const plan::TaskBook& plan, const OutcomeOf& outcome_of, FailedGroup& group,
               std::vector<plan::PlannedTask>& tasks);
  // Adds the result of a finished search to notes_.
  void add_note(const plan::TaskBook& plan, FailedGroup& group);

  bool begun_ = false;
  std::uint32_t next_number_ = 1;
  std::vector<FailedGroup> groups_;
  std::vector<std::string> notes_;
};

}  // namespace railgauge
