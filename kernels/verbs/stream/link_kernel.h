// The frame of every kernel over one link: all steps that do not depend on the operation.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/core/kernel.h"
#include "kernels/core/sampler.h"
#include "kernels/host_cost/host_cost.h"
#include "kernels/verbs/link/control_channel.h"
#include "kernels/verbs/link/link.h"
#include "kernels/verbs/memory/slots.h"
#include "kernels/verbs/proof/link_proof.h"
#include "kernels/verbs/transport/account.h"

namespace railgauge::verbs {

// One thread a rank. An instance measures once: prepare, connect, measure.
class LinkKernel : public Kernel {
 public:
  // Reports the link's facts once it is up.
  Status connect(Context& context, Group& group) override;
  // Measures the sizes in turn and stops at the first failure, with a note of the port counters
  // that grew. Points of earlier sizes stay valid.
  Status measure(Context& context, Group& group) override;

 protected:
  // For prepare: reads sizes and sampling from the parameters and returns the link options that all
  // kernels share.
  Result<Link::Options> read(const Context& context, Verb verb);
  // Opens the port and makes the queues and, with `is_controlled` or for a proof, the control
  // channel. Call after read().
  Status open(const Context& context, const Link::Options& options, bool is_controlled);
  // Makes waits end at the task's deadline and at the stall limit from now on.
  void set_limits(const Context& context);
  // Returns the reason why a queue or a wait failed.
  [[nodiscard]] tl::unexpected<Error> failure() const {
    return tl::unexpected(link_->waiting().failure());
  }

  // Called before the first size, on both ranks.
  virtual Status begin(Context& /*context*/, Group& /*group*/) { return {}; }
  virtual Status measure_size(Context& context, Group& group, std::size_t size_index) = 0;

  using Told = std::vector<PeerStatus>;  // by rank
  // A kernel's own work for one size, or for one figure of it.
  struct Steps {
    // Does this rank's part. Adds to `mine` the numbers that the other rank needs to verify.
    std::function<Status(PeerStatus& mine)> run;
    // Verifies the data that came to this rank; empty when the parameter verify is off.
    std::function<Status(const Told& told)> verify;
    // Makes the points, on rank 0. `closed` has each rank's account.
    std::function<Status(const Told& told, const Told& closed)> report;
  };
  // The step after a size's verification: numbered messages on the same queue pairs.
  struct Proving {
    std::size_t size_index = 0;
    bool both = false;
    // As LinkProof has them.
    Slots receives{};
    // Proofs of this size, of which this is one.
    std::size_t of = 1;
  };
  // Runs the steps on both ranks, with an agreement before the first message, after the last one,
  // after the verification and after the proof, whose result is in proved_ then. `ready` is the
  // result of the set-up. A failure on one side reaches the other in the next agreement, so neither
  // waits for its stall limit. The account covers all traffic between the first and the second
  // agreement.
  Status take_steps(Context& context, Group& group, const Status& ready, const Steps& steps,
                    const std::optional<Proving>& proving = {});
  // Proves messages; both ranks call. Sets proved_. kDataLoss is the rank's that found it, before
  // the ranks agree.
  Status prove(Context& context, const Proving& proving);
  // The way of a kernel's messages; set proved_ by what it returns.
  virtual Result<Proved> prove_by(Context& context, const LinkProof& proof);

  // Reports the hosts' cost of a size, if it is wanted, after its points. `closed` as in Steps. The
  // kernel starts the meter at each end.
  void report_host_cost(const Context& context, const Told& closed, std::uint64_t message_bytes,
                        double bytes_per_second) const;

  // Adds the size's proof, if there was one, to a point.
  void add_proof(Point& point) const;

  // Makes a latency's point of one size, verified except for its last `uncompared` bytes. kDataLoss
  // above the line rate.
  Result<Point> latency_point(const Context& context, const std::string& meaning,
                              std::size_t size_index, const Sampled& sampled,
                              std::uint64_t uncompared = 0) const;

  // Message sizes in bytes, in the parameter's order; 8 for atomics.
  std::vector<std::uint64_t> sizes_;
  SamplerOptions options_;
  // Ticks before each message of a batch, and once after the last answer.
  std::vector<std::uint64_t> stamps_;
  std::unique_ptr<Link> link_;
  std::optional<ControlChannel> control_;  // after the link, whose domain it is registered in
  AccountBook book_;
  // Stopped by take_steps().
  HostCostMeter host_cost_{false};
  std::uint32_t rank_ = 0;
  // The last size's.
  Proved proved_;
};

}  // namespace railgauge::verbs
