// Against whom the ends of a failed pair are measured once all rounds are through: a pair that
// failed or hung says that something is wrong between two places; each place with another, known-
// good partner says with which. Pure.
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

class PartnerBook {
 public:
  explicit PartnerBook(std::span<const RunTaskSpec> tasks);

  void passed(std::size_t task);
  // For good: no attempt of it is left. Each of its ends wants another partner, once in a stage,
  // unless the task was added itself.
  void failed(std::size_t task);
  // What is wanted and has a partner: of the same stage and kind, on neither node, that passed more
  // often than it failed; under the leaf of the end that it replaces where there is one, then the
  // least asked. What has none is forgotten: nobody known to be good could tell more.
  // In a time that grows with the number of ends and of what is wanted, not with their product.
  std::vector<Elsewhere> next();
  // The task that came of it, with the number that follows the last one's.
  void add(const Elsewhere& one);
  // A task that asks for no partner and is none's, with the number that follows the last one's.
  void add_other() { tasks_.push_back({kNoPlace, kNoPlace}); }
  // Nothing more is wanted: of the stage, or of all.
  void close(std::optional<std::uint32_t> stage);

  // Places that next() has looked at to find partners, since the beginning: its cost.
  [[nodiscard]] std::size_t looked_at() const { return looked_at_; }

  // Of a task that next() named.
  [[nodiscard]] std::vector<std::string> endpoints_of(const Elsewhere& one) const;
  [[nodiscard]] std::vector<std::string> leaves_of(const Elsewhere& one) const;

 private:
  struct Place {  // an end in a stage
    std::uint32_t stage = 0;
    PairEnd end{};
    std::size_t task = 0;  // that has it, as `rank`
    std::uint32_t rank = 0;
    std::uint32_t passed = 0;
    std::uint32_t failed = 0;
    std::uint32_t asked = 0;   // to be a partner
    bool is_measured = false;  // with another partner, or will be
  };
  using Ends = std::array<std::uint32_t, 2>;  // places, by rank
  static constexpr std::uint32_t kNoPlace = ~0U;

  std::uint32_t place_of(std::uint32_t stage, const PairEnd& end, std::size_t task,
                         std::uint32_t rank);
  // Known-good places of one stage and kind, under one leaf ("" too) or all of them, by how often
  // they were asked.
  using Queue = std::set<std::pair<std::uint32_t, std::uint32_t>>;
  struct Queues {
    std::map<std::string_view, Queue> by_leaf{};
    Queue all{};
  };
  using Choice = std::map<std::pair<std::uint32_t, std::string_view>, Queues>;  // by stage and kind
  [[nodiscard]] Choice known_good() const;
  // Asks it, too.
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
