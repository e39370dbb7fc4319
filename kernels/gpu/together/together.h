// Several ranks that use one resource at the same time: rank 0 says when a sample begins, each rank
// moves its bytes, and the rate is all bytes over the time from the first begin to the last end. A
// rank that begins late or ends early makes the rate smaller, never larger.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/core/base/result.h"
#include "kernels/core/group/group.h"
#include "kernels/core/kernel.h"
#include "kernels/gpu/device.h"

namespace railgauge::gpu {

// The bytes that a rank moved, and when, in ns on CLOCK_MONOTONIC.
struct Moved {
  double bytes = 0;
  double began_ns = 0;
  double ended_ns = 0;
};

// One rank's part of a joint sample. `begin_monotonic_ns` is when it should begin; a time that has
// passed means at once.
struct TogetherParts {
  std::function<Result<Moved>(double begin_monotonic_ns)> move;
  // Before the first kept sample: makes the targets wrong.
  std::function<Status()> ready;
};

// The ranks of one task. Not thread safe; group and context outlive it.
class Together {
 public:
  Together(Context& context, Group& group) : context_(&context), group_(&group) {}

  // All ranks meet. `mine` is the rank's own state; a rank that failed is named to all. `gpu` may
  // be nullptr after a failure.
  Status meet(const Status& mine, const Gpu* gpu);
  [[nodiscard]] bool on_one_host() const { return on_one_host_; }
  // Reports whether all ranks have rank 0's GPU.
  [[nodiscard]] bool on_one_gpu() const { return on_one_gpu_; }
  // Reports whether no two ranks have the same GPU.
  [[nodiscard]] bool on_gpus_of_their_own() const { return on_gpus_of_their_own_; }

  // Rank 0: one sample of ranks 0 to `ranks` - 1, in bytes per second.
  Result<double> sample(const TogetherParts& parts, std::uint32_t ranks);
  // Rank 0: all ranks call their `ready`. Forgets the shares.
  Status ready(const TogetherParts& parts);
  // Rank 0 ends what the others follow. `mine` is how its samples ended; after a joint step's error
  // the others have left already.
  Status end(const Status& mine);
  // The other ranks: do what rank 0 says until its end().
  Status follow(const TogetherParts& parts);
  // All ranks agree on how a step ended.
  Status agree(const Status& mine);

  // On rank 0: each rank's part of the bytes since ready(), "0.500, 0.500".
  [[nodiscard]] std::string shares() const;

 private:
  Status order(const TogetherParts& parts, std::uint32_t order, std::uint32_t ranks);
  Status step(const TogetherParts& parts, std::uint32_t order, std::uint32_t ranks);
  Status perform(const TogetherParts& parts, std::uint32_t order, std::uint32_t ranks,
                 double begin_ns, double came_ns);

  Context* context_;
  Group* group_;
  bool on_one_host_ = true;
  bool on_one_gpu_ = true;
  bool on_gpus_of_their_own_ = true;
  bool others_left_ = false;   // with the error of a joint step
  double rate_ = 0;            // of the last sample
  std::vector<double> moved_;  // by rank, since ready()
};

}  // namespace railgauge::gpu
