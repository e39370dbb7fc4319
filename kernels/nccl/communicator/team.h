// The ranks of one task: NCCL's communicator, in which they compute, and the team, in which they
// agree on the next step over the task's own rendezvous.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/base/handle.h"
#include "kernels/core/base/result.h"
#include "kernels/core/group/group.h"
#include "kernels/dl/nccl.h"
#include "kernels/gpu/device.h"
#include "kernels/nccl/communicator/peer.pb.h"
#include "kernels/nccl/communicator/worker.h"

namespace railgauge::nccl {

// The id that all ranks join with, as bytes; one rank makes it.
Result<std::string> make_unique_id();

// One rank's NCCL communicator, blocking: its calls return when the work is queued, and those that
// meet other ranks (joining, the first call of a kind, the end) when these have come. So they are
// made by a Worker. A communicator that does not end in order is aborted, which also ends kernels
// that wait for a rank that is gone.
class Communicator {
 public:
  // Joins `ranks` ranks as number `rank` with the GPU whose context is current; returns when all
  // have. Errors are NCCL's words. `gpu` and `progress` outlive it.
  static Result<Communicator> join(const gpu::Gpu& gpu, const Progress& progress,
                                   std::uint32_t ranks, std::uint32_t rank,
                                   const std::string& unique_id);

  Communicator() = default;  // of no ranks

  // For NCCL's own calls; nullptr without ranks.
  [[nodiscard]] nc::Comm get() const { return comm_.get(); }
  explicit operator bool() const { return static_cast<bool>(comm_); }

  // Converts the result of a call on this communicator. Where the site sets NCCL_COMM_BLOCKING=0,
  // calls continue in the background; this waits for them until `progress` is stopped.
  Status done(nc::Return returned, std::string_view act) const;
  // Returns a background error, such as a lost connection, in NCCL's words; ok without ranks. Any
  // thread may call it while the communicator lives.
  [[nodiscard]] Status health() const;

  // The orderly end, all ranks together. Without it the destructor aborts.
  Status finish();

 private:
  // ncclCommAbort on release; finish() takes the communicator out of the handle first.
  struct Traits {
    using Type = nc::Comm;
    static Type empty() { return nullptr; }
    static void release(Type comm) { static_cast<void>(loaded_nccl().comm_abort(comm)); }
  };

  const gpu::Gpu* gpu_ = nullptr;
  const Progress* progress_ = nullptr;
  Handle<Traits> comm_;
};

// The kinds of orders. The numbers travel in peer.proto and stay.
enum class Command : std::uint32_t { kNone, kReady, kBatch, kWall, kEnd, kCall };
// The next step of all ranks: `count` samples of `repeat` iterations. kCall is one call, not timed.
struct Order {
  Command command = Command::kNone;
  std::uint64_t count = 0;
  std::uint64_t repeat = 1;
};

// The ranks between their timed regions: rank 0 announces the next step, all do it, each reports
// the result. A lost rank is named with the last step that it reported. Not thread safe; the group
// outlives it.
class Team {
 public:
  // Does what is ordered; appends samples where it has some.
  using Perform = std::function<Status(const Order& order, std::vector<double>& samples_ns)>;

  // Waits for the others until `until_monotonic_ns`.
  Team(Group& group, double until_monotonic_ns)
      : group_(&group), until_monotonic_ns_(until_monotonic_ns), last_steps_(group.size()) {}

  [[nodiscard]] std::uint32_t rank() const { return group_->rank(); }
  [[nodiscard]] std::uint32_t size() const { return group_->size(); }
  // Rank 0 orders, the others follow.
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
  Result<std::vector<Told>> carry_out(const Order& order, const Perform& perform);
  // Adds what this rank knows of the lost one to an error.
  [[nodiscard]] Error explain(Error error, const Error* group_error) const;

  Group* group_;
  // On CLOCK_MONOTONIC: no step waits longer.
  double until_monotonic_ns_;
  std::string step_ = "start";
  // By rank; "" where that rank never reported one.
  std::vector<std::string> last_steps_;
  bool broken_ = false;
};

}  // namespace railgauge::nccl
