// Chooses other partners for the ends of a failed pair, once all rounds are over. A pair that
// failed shows that something is wrong between two places. Each place with another, known-good
// partner shows which one it is. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/run/run_task.h"

namespace railgauge::run {

// A task to add: the one at index `failed` with the end of rank `replaced_rank` exchanged for the
// end that rank `partner_rank` of the task `partner_task` has.
struct Elsewhere {
  std::size_t failed = 0;
  std::uint32_t replaced_rank = 0;
  std::size_t partner_task = 0;
  std::uint32_t partner_rank = 0;
  bool operator==(const Elsewhere&) const = default;
};

// The results of each place, and the places that need another partner. Not thread safe.
class PartnerBook {
 public:
  // `tasks` are all planned tasks; tasks without two ends take no part.
  explicit PartnerBook(std::span<const RunTaskSpec> tasks);

  // The task passed, which counts for both of its ends.
  void passed(std::size_t task);
  // The task failed for good: it has no attempt left. Each of its ends gets another partner, once
  // in a stage. A task that was added itself gets none.
  void failed(std::size_t task);
  // The tasks to add. A partner has the same stage and kind, is on neither node, and passed more
  // often than it failed. A partner under the leaf of the replaced end is preferred, then the one
  // that was asked least. A place without a partner is dropped. The cost grows with the number of
  // ends plus the number of wanted tasks, not with their product.
  std::vector<Elsewhere> next();
  // Enters the task that was added for `one`. Its number follows the number of the last task.
  void add(const Elsewhere& one);
  // Enters a task that takes no part. Its number follows the number of the last task.
  void add_other() { tasks_.push_back({kNoPlace, kNoPlace}); }
  // Adds nothing more: for the stage, or for all stages if absent.
  void close(std::optional<std::uint32_t> stage);

  // The places that next() has looked at since the beginning: its cost.
  [[nodiscard]] std::size_t looked_at() const { return looked_at_; }

  // The endpoints and leaves of a task that next() returned.
  [[nodiscard]] std::vector<std::string> endpoints_of(const Elsewhere& one) const;
  [[nodiscard]] std::vector<std::string> leaves_of(const Elsewhere& one) const;

 private:
  // An end in a stage, with its results.
  struct Place {
    std::uint32_t stage = 0;
    PairEnd end{};
    // The first task that has the end, as rank `rank`.
    std::size_t task = 0;
    std::uint32_t rank = 0;
    std::uint32_t passed = 0;
    std::uint32_t failed = 0;
    std::uint32_t asked = 0;   // times that it was chosen as a partner
    bool is_measured = false;  // with another partner, now or soon
  };
  using Ends = std::array<std::uint32_t, 2>;  // places, by rank
  static constexpr std::uint32_t kNoPlace = ~0U;

  std::uint32_t place_of(std::uint32_t stage, const PairEnd& end, std::size_t task,
                         std::uint32_t rank);
  // Known-good places of one stage and kind, under one leaf ("" too) or under all, by the number of
  // times that they were asked.
  using Queue = std::set<std::pair<std::uint32_t, std::uint32_t>>;
  struct Queues {
    std::map<std::string_view, Queue> by_leaf{};
    Queue all{};
  };
  using Choice = std::map<std::pair<std::uint32_t, std::string_view>, Queues>;  // by stage and kind
  [[nodiscard]] Choice known_good() const;
  // The best partner for the end that rank `replaced_rank` has now. Counts it as asked.
  std::optional<std::uint32_t> take_partner(Choice& choice, const Ends& ends,
                                            std::uint32_t replaced_rank);
  std::optional<std::uint32_t> first_apart(const Queue& queue, const Place& one,
                                           const Place& other);
  [[nodiscard]] std::array<const PairEnd*, 2> ends_of(const Elsewhere& one) const;

  std::vector<Ends> tasks_;
  std::vector<Place> places_;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> index_;  // by stage and name
  std::size_t planned_ = 0;
  std::vector<std::pair<std::size_t, std::uint32_t>> wanted_;  // task, rank whose end stays
  std::size_t looked_at_ = 0;
  std::set<std::uint32_t> closed_stages_;
  bool closed_ = false;
};

}  // namespace railgauge::run
