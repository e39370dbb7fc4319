// What a run measures once its rounds are through, when its suite asks for it: each suspect against
// known-good partners, and each group that failed by halves. Pure but for what it is given.
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

// The pairs that the suspects of a run's figures want, as far as these are stored; of a run that
// came by schedule also a twentieth of its pairs by lot, to be measured twice. Empty without
// figures of pairs. Blocks.
Result<std::vector<plan::WantedPair>> wanted_pairs(store::Store& store, const std::string& run_id,
                                                   const LeafSource& leaves);

class DrillDown {
 public:
  // How a task of the plan ended, by its index; "": it has not.
  using OutcomeOf = std::function<std::string_view(std::size_t index)>;

  [[nodiscard]] bool has_begun() const { return begun_; }
  // Tasks that `plan` is to have next, at its end, when all that it has are over; `pairs` are taken
  // the first time. None: nothing more is to be measured.
  std::vector<plan::PlannedTask> next(const plan::Plan& plan, const OutcomeOf& outcome_of,
                                      std::span<const plan::WantedPair> pairs,
                                      const plan::NodeOf& node_of = {});
  // What came of each group that failed, a line each.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

 private:
  struct Hunt {
    std::size_t whole = 0;             // its task in the plan
    std::vector<std::string> nodes{};  // by number
    localise::GroupHunt hunt;
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
