// The ranks of one task between their timed regions: rank 0 announces the next step, all do it,
// each reports the result. A lost rank is named with the last step that it reported.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/core/group/group.h"
#include "kernels/nccl/communicator/peer.pb.h"

namespace railgauge::nccl {

enum class Command : std::uint32_t { kNone, kReady, kBatch, kWall, kEnd, kCall };
// The next step of all ranks: `count` samples of `repeat` iterations. kCall is one call, not timed.
struct Order {
  Command command = Command::kNone;
  std::uint64_t count = 0;
  std::uint64_t repeat = 1;
};

// Not thread safe; the group outlives it.
class Team {
 public:
  // Does what is ordered; appends samples where it has some.
  using Perform = std::function<Status(const Order& order, std::vector<double>& samples_ns)>;

  // Waits for the others until `until_monotonic_ns`.
  Team(Group& group, double until_monotonic_ns)
      : group_(&group), until_monotonic_ns_(until_monotonic_ns), last_steps_(group.size()) {}

  [[nodiscard]] std::uint32_t rank() const { return group_->rank(); }
  [[nodiscard]] std::uint32_t size() const { return group_->size(); }
  [[nodiscard]] bool leads() const { return rank() == 0; }

  // The step that this rank is about to take: it appears in the others' message when this rank is
  // lost.
  void begin_step(std::string step) {
    step_ = std::move(step);
    group_->set_place(step_);
  }
  [[nodiscard]] const std::string& step() const { return step_; }

  // When it went well everywhere: on rank 0 all ranks' messages, in rank order; on the others rank
  // 0's, and empty ones, since what each hears must not grow with their number.
  Result<std::vector<Told>> agree(const Status& mine, Told told = {});

  // On rank 0: all ranks do it, this one too. Gives each rank's samples. After an error no rank
  // listens any more.
  Result<std::vector<std::vector<double>>> order(const Order& order, const Perform& perform);
  // On rank 0, when no order failed: the others stop following; `mine` is their error too.
  Status end_orders(const Status& mine);
  // On the others: does what rank 0 orders until it ends.
  Status follow(const Perform& perform);
  // An error of the team: all ranks know.
  [[nodiscard]] bool broken() const { return broken_; }

 private:
  [[nodiscard]] Error explain(Error error, const Error* group_error) const;

  Group* group_;
  double until_monotonic_ns_;
  std::string step_ = "start";
  std::vector<std::string> last_steps_;
  bool broken_ = false;
};

}  // namespace railgauge::nccl
