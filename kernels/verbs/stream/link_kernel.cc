#include "kernels/verbs/stream/link_kernel.h"

#include <algorithm>

#include <fmt/format.h>

#include "kernels/core/agreement.h"
#include "kernels/dl/verbs.h"
#include "kernels/verbs/link/parameters.h"
#include "kernels/verbs/stream/link_stream.h"
#include "kernels/verbs/stream/report.h"

namespace railgauge::verbs {

Result<Link::Options> LinkKernel::read(const Context& context, Verb verb) {
  Link::Options options = link_options(context.params, verb);
  sizes_ = sizes_of(context.params, operation_of(options.verb));
  options_ = RG_TRY(sampler_options(context.params));
  stamps_.resize(options_.batch + 1);
  host_cost_ = HostCostMeter(wants_host_cost(context.params));
  options.largest_bytes = *std::ranges::max_element(sizes_);
  options.area_bytes = options.largest_bytes;
  return options;
}

Status LinkKernel::open(const Context& context, const Link::Options& options, bool is_controlled) {
  link_ = RG_TRY(Link::open(context, options));
  if (is_controlled || context.params.boolean("verify"))
    control_.emplace(RG_TRY(ControlChannel::open(*link_)));
  return {};
}

Status LinkKernel::connect(Context& context, Group& group) {
  rank_ = group.rank();
  RG_TRY_OK(link_->connect(context, group));
  if (control_) RG_TRY_OK(control_->connect(context, *link_, group));
  link_->report_facts(context.reporter);
  book_.set_port(link_->device());
  book_.report_fact(context.reporter);
  return {};
}

void LinkKernel::set_limits(const Context& context) {
  link_->waiting().set_limits(tick_clock(context), context.deadline_monotonic_ns,
                              context.params.duration_ns("stall_timeout"));
}

Status LinkKernel::measure(Context& context, Group& group) {
  set_limits(context);
  RG_TRY_OK(begin(context, group));
  Status here;
  for (std::size_t i = 0; i < sizes_.size() && here; ++i) here = measure_size(context, group, i);
  note_troubles(book_, link_->device(), here, context.reporter);
  return here;
}

// Verification reads both ranks' numbers: the target compares as much as the initiator posted.
Status LinkKernel::take_steps(Context& context, Group& group, const Status& ready,
                              const Steps& steps, const std::optional<Proving>& proving) {
  host_cost_.look_before();
  book_.open();  // before the other side may begin
  RG_TRY_OK(agree<PeerStatus>(group, ready, seconds_left(context)));
  PeerStatus mine;
  const Status here = steps.run(mine);
  if (!here && control_) control_->abort();
  const Told told = RG_TRY(agree_on(group, here, std::move(mine), seconds_left(context)));
  PeerStatus closing;
  *closing.mutable_host_cost() = host_cost_.stop();
  *closing.add_accounts() = book_.close();
  const Status compared = context.params.boolean("verify") ? steps.verify(told) : Status{};
  const Told closed = RG_TRY(agree_on(group, compared, std::move(closing), seconds_left(context)));
  if (proving && context.params.boolean("verify"))
    RG_TRY_OK(agree<PeerStatus>(group, prove(context, *proving), seconds_left(context)));
  return rank_ == 0 ? steps.report(told, closed) : Status{};
}

void LinkKernel::report_host_cost(const Context& context, const Told& closed,
                                  std::uint64_t message_bytes, double bytes_per_second) const {
  if (!host_cost_.is_wanted()) return;
  std::vector<HostCostWords> costs;
  for (const PeerStatus& end : closed) costs.push_back(end.host_cost());
  report_host_costs(context.reporter, link_->device().endpoint(), costs,
                    {.bytes_per_second = bytes_per_second,
                     .message_bytes = message_bytes,
                     .is_synthetic = loaded_verbs().synthetic || link_->memory().is_synthetic()});
}

Status LinkKernel::prove(Context& context, const Proving& proving) {
  const std::size_t parts = sizes_.size() * proving.of * (proving.both ? 2 : 1);
  const LinkProof proof{.size_index = proving.size_index,
                        .message_bytes = sizes_[proving.size_index],
                        .rank = rank_,
                        .both = proving.both,
                        .receives = proving.receives,
                        .share = proof_share(context.params.duration_ns("proof_time"), parts)};
  proved_ = RG_TRY(prove_by(context, proof));
  return {};
}

Result<Proved> LinkKernel::prove_by(Context& context, const LinkProof& proof) {
  return prove_link(*link_, *control_, tick_clock(context), proof);
}

void LinkKernel::add_proof(Point& point) const {
  add_proved(proved_, static_cast<std::uint64_t>(point.message_bytes()), *point.mutable_facts());
}

Result<Point> LinkKernel::latency_point(const Context& context, const std::string& meaning,
                                        std::size_t size_index, const Sampled& sampled,
                                        std::uint64_t uncompared) const {
  Point point = make_verbs_point({.metric = "latency_ns", .meaning = meaning, .unit = "ns"},
                                 sizes_[size_index], sampled, context.raw_samples);
  point.set_verified(context.params.boolean("verify") && sizes_[size_index] > uncompared);
  if (link_->memory().is_synthetic()) point.set_synthetic(true);
  (*point.mutable_facts())["clock_drift_ppm"] =
      fmt::format("{:.3f}", tick_clock(context).drift_ppm());
  (*point.mutable_facts())["buffer"] = buffer_words(*link_);
  RG_TRY_OK(hold_to_line_rate(link_->device(), link_->mine(), link_->peer(), point));
  return point;
}

}  // namespace railgauge::verbs
