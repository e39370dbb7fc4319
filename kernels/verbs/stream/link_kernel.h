// The frame of every kernel over one link: what is the same before, around and after its sizes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/core/kernel.h"
#include "kernels/core/sampler.h"
#include "kernels/verbs/link/control_channel.h"
#include "kernels/verbs/link/link.h"
#include "kernels/verbs/transport/account.h"

namespace railgauge::verbs {

// One thread per rank. An instance measures once: prepare, connect, measure.
class LinkKernel : public Kernel {
 public:
  // Reports the link's facts once it is up.
  Status connect(Context& context, Group& group) override;
  // Measures the sizes in turn and stops at the first that fails, with a note of the port counters
  // that grew. Points of earlier sizes stay valid.
  Status measure(Context& context, Group& group) override;

 protected:
  // In prepare: sizes and sampling from the parameters, and the link's options as far as those of
  // every kernel say them.
  Result<Link::Options> read(const Context& context, Verb verb);
  // After it: opens the port, makes the queues, and where `is_controlled` the control channel.
  Status open(const Context& context, const Link::Options& options, bool is_controlled);
  // From now on waits end at the task's deadline and at the stall limit.
  void set_limits(const Context& context);
  // The reason why a queue or a wait failed.
  [[nodiscard]] tl::unexpected<Error> failure() const {
    return tl::unexpected(link_->waiting().failure());
  }

  // Before the first size, on both ranks.
  virtual Status begin(Context& /*context*/, Group& /*group*/) { return {}; }
  virtual Status measure_size(Context& context, Group& group, std::size_t size_index) = 0;

  using Told = std::vector<PeerStatus>;  // by rank
  // A kernel's own work for one size, or for one figure of it.
  struct Steps {
    // This rank's part. Adds to `mine` what the other rank must know to verify.
    std::function<Status(PeerStatus& mine)> run;
    // Compares what came to this rank; left out where the parameter verify is off.
    std::function<Status(const Told& told)> verify;
    // On rank 0: makes the points. `closed` has each rank's account.
    std::function<Status(const Told& told, const Told& closed)> report;
  };
  // Takes the steps on both ranks, with an agreement before the first message, after the last and
  // after the verification. `ready` is the result of the set-up. A failure on one side reaches the
  // other through the next agreement, so that neither waits for its stall limit. The account covers
  // all traffic between the first agreement and the second.
  Status take_steps(Context& context, Group& group, const Status& ready, const Steps& steps);

  // A latency's point of one size, verified but for its last `uncompared` bytes. kDataLoss above
  // the line rate.
  Result<Point> latency_point(const Context& context, const std::string& meaning,
                              std::size_t size_index, const Sampled& sampled,
                              std::uint64_t uncompared = 0) const;

  // Bytes of a message, in the order of the parameter; 8 for atomics.
  std::vector<std::uint64_t> sizes_;
  SamplerOptions options_;
  // Ticks before each message of a batch, and one after the last answer.
  std::vector<std::uint64_t> stamps_;
  std::unique_ptr<Link> link_;
  std::optional<ControlChannel> control_;  // after the link, whose domain it is registered in
  AccountBook book_;
  std::uint32_t rank_ = 0;
};

}  // namespace railgauge::verbs
