// Tasks that a run adds after its rounds, when its suite asks for it: each suspect with known-good
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
  // Returns the tasks to append to `plan` when all its tasks have ended. `pairs` are used by the
  // first call only. None: the follow-up is complete.
  std::vector<plan::PlannedTask> next(const plan::Plan& plan, const OutcomeOf& outcome_of,
                                      std::span<const plan::WantedPair> pairs,
                                      const plan::NodeOf& node_of = {});
  // The result for each group that failed, one line each.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

 private:
  struct Hunt {
    std::size_t whole = 0;             // its task in the plan
    std::vector<std::string> nodes{};  // by number
    localise::GroupHalving hunt;
    std::map<std::size_t, std::uint32_t> out{};  // tests under way, by task
    bool is_told = false;
  };
  void open_hunts(const plan::Plan& plan, const OutcomeOf& outcome_of);
  void go_on(const plan::Plan& plan, const OutcomeOf& outcome_of, Hunt& hunt,
             std::vector<plan::PlannedTask>& tasks);
  void tell(const plan::Plan& plan, Hunt& hunt);

  bool begun_ = false;
  std::uint32_t next_number_ = 1;
  std::vector<Hunt> hunts_;
  std::vector<std::string> notes_;
};

}  // namespace railgauge
