// Chooses other partners for the ends of a failed pair, after all rounds. A failed pair shows a
// fault somewhere between two places. Measuring each place with another, known-good partner shows
// which place has the fault. Pure.
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

// A task to add: the task at index `failed`, with the end of rank `replaced_rank` exchanged for the
// end of rank `partner_rank` of task `partner_task`.
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
  // `planned`: the number of planned tasks, whose indices come before those of added ones.
  explicit PartnerBook(std::size_t planned) : planned_(planned), next_(planned) {}
  // Enters all planned tasks.
  explicit PartnerBook(std::span<const RunTaskSpec> tasks);

  // Enters a planned task; without two ends it takes no part. Call it before passed() and failed().
  void enter(std::size_t task, const RunTaskSpec& spec);
  // Counts a passed task for both of its ends.
  void passed(std::size_t task);
  // Counts a task that failed in its last attempt. Each of its ends gets another partner, once in a
  // stage; the ends of an added task get none.
  void failed(std::size_t task);
  // Returns the tasks to add. A partner has the same stage and kind, is on neither node, and passed
  // more often than it failed. Prefers a partner under the leaf of the replaced end, then the least
  // often chosen one. Drops a place without a partner. The cost grows with the number of ends plus
  // the number of wanted tasks, not with their product.
  std::vector<Elsewhere> next();
  // Enters the task made from `one`, with the next free task number.
  void add(const Elsewhere& one);
  // Enters a task that takes no part, with the next free task number.
  void add_other() { ++next_; }
  // Stops adding tasks for the stage, or for all stages if absent.
  void close(std::optional<std::uint32_t> stage);

  // Returns the number of places that next() has examined so far, as a measure of its cost.
  [[nodiscard]] std::size_t looked_at() const { return looked_at_; }

  // Return the endpoints and the leaves of a task from next().
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
  // Known-good places of one stage and kind, under one leaf (or "") or under all leaves, by the
  // number of times that each was chosen.
  using Queue = std::set<std::pair<std::uint32_t, std::uint32_t>>;
  struct Queues {
    std::map<std::string_view, Queue> by_leaf{};
    Queue all{};
  };
  using Choice = std::map<std::pair<std::uint32_t, std::string_view>, Queues>;  // by stage and kind
  [[nodiscard]] Choice known_good() const;
  // Returns the best partner in place of the end at rank `replaced_rank`, and counts the choice.
  std::optional<std::uint32_t> take_partner(Choice& choice, const Ends& ends,
                                            std::uint32_t replaced_rank);
  std::optional<std::uint32_t> first_apart(const Queue& queue, const Place& one,
                                           const Place& other);
  [[nodiscard]] std::array<const PairEnd*, 2> ends_of(const Elsewhere& one) const;

  [[nodiscard]] Ends ends_of(std::size_t task) const;
  Ends& slot_of(std::size_t task);

  // By task, as far as they were entered: 8 bytes each, for millions of tasks.
  std::vector<Ends> tasks_;
  std::vector<Place> places_;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> index_;  // by stage and name
  std::size_t planned_ = 0;
  std::size_t next_ = 0;                                       // the next free task number
  std::vector<std::pair<std::size_t, std::uint32_t>> wanted_;  // task, rank whose end stays
  std::size_t looked_at_ = 0;
  std::set<std::uint32_t> closed_stages_;
  bool closed_ = false;
};

}  // namespace railgauge::run
