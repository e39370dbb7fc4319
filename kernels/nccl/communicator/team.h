// The ranks of one task: NCCL's communicator, in which they compute, and the team, in which they
// agree on each next step over the task's own rendezvous.
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

// Prints a failed release of one of NCCL's objects to stderr: a destructor returns nothing.
// kInProgress is none, it ends in the background.
void note_release(std::string_view act, nc::Return returned);

// Makes the id by which all ranks join, as bytes; only one rank makes it.
Result<std::string> make_unique_id();

// How ranks join.
struct Joining {
  bool blocking = true;  // false: calls return at once, and are asked for their end
  int cta_policy = nc::kUndefined;
};

// One rank's NCCL communicator. Its calls return when the work is queued; calls that meet other
// ranks (joining, the first call of a kind, the end) return when all ranks have come, so a Worker
// makes them. A communicator without an orderly end is aborted, which also ends kernels that wait
// for a lost rank.
class Communicator {
 public:
  // Joins `ranks` ranks as number `rank`, with the GPU whose context is current; returns when all
  // ranks have joined. Errors have NCCL's text. `gpu` and `progress` outlive the communicator.
  static Result<Communicator> join(const gpu::Gpu& gpu, const Progress& progress,
                                   std::uint32_t ranks, std::uint32_t rank,
                                   const std::string& unique_id, const Joining& joining = {});
  // Puts a communicator of the ranks with the same `color` in the place of this one, which lives on
  // behind it. All ranks call it; `rank` is the one in the old communicator.
  Status split(std::uint32_t color, std::uint32_t rank);

  Communicator() = default;  // without ranks

  // Returns the handle for NCCL's own calls; nullptr without ranks.
  [[nodiscard]] nc::Comm get() const { return comm_.get().comm; }
  explicit operator bool() const { return static_cast<bool>(comm_); }
  // Returns the communicator of all ranks: the one that was split, or the only one.
  [[nodiscard]] nc::Comm whole() const {
    return comm_.get().parent != nullptr ? comm_.get().parent : comm_.get().comm;
  }
  // As done(), of a call on whole().
  Status whole_done(nc::Return returned, std::string_view act) const {
    return done_of(whole(), returned, act);
  }

  // Converts the result of a call on this communicator. With the site's NCCL_COMM_BLOCKING=0 calls
  // continue in the background; this waits for them until `progress` is stopped.
  Status done(nc::Return returned, std::string_view act) const;
  // Returns a background error, such as a lost connection, in NCCL's words; ok without ranks.
  // Thread safe while the communicator lives.
  [[nodiscard]] Status health() const;

  // Ends the communicator orderly, with all ranks. Without it the destructor aborts.
  Status finish();

 private:
  // A communicator, and the one that it was split from, or nullptr.
  struct Family {
    nc::Comm comm = nullptr;
    nc::Comm parent = nullptr;
    bool operator==(const Family&) const = default;
  };
  // ncclCommAbort on release; finish() takes the communicators out of the handle first.
  struct Traits {
    using Type = Family;
    static Type empty() { return {}; }
    static void release(Type both) {
      for (nc::Comm comm : {both.comm, both.parent})
        if (comm != nullptr) static_cast<void>(loaded_nccl().comm_abort(comm));
    }
  };
  // Frees a communicator that is finalized.
  static Status destroy(nc::Comm comm, const std::string& act);
  // As done(), of one communicator.
  Status done_of(nc::Comm comm, nc::Return returned, std::string_view act) const;

  const gpu::Gpu* gpu_ = nullptr;
  const Progress* progress_ = nullptr;
  Handle<Traits> comm_;
};

// The kinds of orders. peer.proto carries the numbers, so they never change.
enum class Command : std::uint32_t { kNone, kReady, kBatch, kWall, kEnd, kCall, kProve, kCheck };
// The next step of all ranks: `count` samples of `repeat` iterations. kCall is one untimed call,
// kProve a proof's round of `count` calls from number `repeat` on, kCheck the check of the timed
// calls' results.
struct Order {
  Command command = Command::kNone;
  std::uint64_t count = 0;
  std::uint64_t repeat = 1;
};

// The ranks between their timed regions: rank 0 announces the next step, all ranks perform it, and
// each reports the result. Errors name a lost rank with its last reported step. Not thread safe;
// the group outlives the team.
class Team {
 public:
  // Performs an order; appends its samples, if it has any.
  using Perform = std::function<Status(const Order& order, std::vector<double>& samples_ns)>;

  // Waits for the others until `until_monotonic_ns`.
  Team(Group& group, double until_monotonic_ns)
      : group_(&group), until_monotonic_ns_(until_monotonic_ns), last_steps_(group.size()) {}

  [[nodiscard]] std::uint32_t rank() const { return group_->rank(); }
  [[nodiscard]] std::uint32_t size() const { return group_->size(); }
  // Reports whether this rank orders: rank 0 does, the others follow.
  [[nodiscard]] bool leads() const { return rank() == 0; }

  // Sets the next step of this rank; the others' message has it when this rank is lost.
  void begin_step(std::string step) {
    step_ = std::move(step);
    group_->set_place(step_);
  }
  [[nodiscard]] const std::string& step() const { return step_; }

  // Shares the ranks' results. On success rank 0 gets all ranks' messages in rank order; the others
  // get rank 0's and empty ones, so that their traffic does not grow with the number of ranks.
  Result<std::vector<Told>> agree(const Status& mine, Told told = {});

  // On rank 0: makes all ranks, itself included, perform the order, and returns each rank's
  // samples. After an error no rank accepts orders.
  Result<std::vector<std::vector<double>>> order(const Order& order, const Perform& perform);
  // On rank 0, when no order failed: ends following; `mine` becomes the others' error too.
  Status end_orders(const Status& mine);
  // On the other ranks: performs rank 0's orders until it ends them.
  Status follow(const Perform& perform);
  // Reports an error of the team, which all ranks know.
  [[nodiscard]] bool broken() const { return broken_; }

 private:
  Result<std::vector<Told>> carry_out(const Order& order, const Perform& perform);
  // Adds this rank's knowledge of the lost rank to an error.
  [[nodiscard]] Error explain(Error error, const Error* group_error) const;

  Group* group_;
  // On CLOCK_MONOTONIC: the end of every wait.
  double until_monotonic_ns_;
  std::string step_ = "start";
  // By rank; "" for a rank that never reported a step.
  std::vector<std::string> last_steps_;
  bool broken_ = false;
};

}  // namespace railgauge::nccl
