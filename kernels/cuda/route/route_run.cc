// The steps of a run: binding flows to memory, probing the time of a copy, and samples under load.
#include "kernels/cuda/route/route_run.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "kernels/core/base/failpoint.h"

namespace railgauge::cuda {
namespace {

// Marks of each of several measured streams in a sample, so that overlap_of() can end while all are
// at work.
constexpr std::uint64_t kMarksOfMany = 4;
// Runs that are tried for one loaded sample.
constexpr int kLoadAttempts = 8;
// Streams that one gate lets go begin some us apart; later than this, something held them back.
constexpr double kGateSkewNs = 20e3;
// Copies of a load at most: 1 TiB in pieces of the largest size. A load that would need more ends
// early.
constexpr std::uint64_t kMostLoadCopies = 8192;
// Seed of the patterns; each flow's source and target get their own.
constexpr std::uint64_t kSeed = 0x5241494cU;
// A load may need more copies behind the gate than the measured stream.
constexpr std::uint64_t kMostWhenLoaded = Lanes::kMaxQueued / 4;

// With the failpoint slow_gpu=N, the copies that GPU N runs take a twentieth longer: that part is
// copied twice.
std::uint64_t again_bytes(const Flow& flow, Engine engine, std::uint64_t copy_bytes) {
  constexpr std::uint64_t kPart = 20;
  constexpr std::uint64_t kWholeUnits = 512;
  if (moves_both_ways(engine) ||
      failpoint_value("slow_gpu") != std::to_string(flow.runs_on->index()))
    return 0;
  return copy_bytes / kPart / kWholeUnits * kWholeUnits;
}

// A load copies pieces, so that it ends soon after the measured copies.
std::uint64_t copy_bytes_of(const Flow& flow, std::uint64_t size) {
  return flow.measured ? size : std::min(size, kLoadPieceBytes);
}

// The places of a flow's copies. Where each word is moved several times, a launch moves a slice: a
// launch of the whole would last too long to choose how many of them make a sample.
Rotation rotation_of(Engine engine, std::uint64_t copy_bytes, std::uint64_t cache_bytes) {
  constexpr std::uint64_t kSlices = 8;
  constexpr std::uint64_t kBothStep = 1024;  // a slice has whole pairs of units
  if (engine == Engine::kSmBothAgain && copy_bytes % (kSlices * kBothStep) == 0)
    return Rotation::of_slices(copy_bytes, kSlices);
  return {copy_bytes, moves_both_ways(engine) ? 0 : cache_bytes};
}

// The name of a flow's end; nullptr is the host's memory.
std::string name_of_end(const gpu::Gpu* gpu) { return gpu == nullptr ? "host" : gpu->name(); }

}  // namespace

std::uint64_t RouteRun::area_bytes(const Flow& flow, Engine engine, std::uint64_t size,
                                   std::uint64_t cache_bytes) {
  return rotation_of(engine, copy_bytes_of(flow, size), cache_bytes).region_bytes();
}

// Sources are filled once; targets before the first kept sample.
Result<RouteRun> RouteRun::start(const Parts& parts, const Route& route,
                                 const std::vector<std::pair<const Area*, const Area*>>& areas,
                                 std::uint64_t size) {
  RouteRun run(parts);
  RG_TRY_OK(run.bind(route, areas, size));
  for (const auto& bound : run.bounds_) RG_TRY_OK(run.fill_source(*bound));
  RG_TRY_OK(run.start_lanes());
  RG_TRY_OK(run.probe());
  return run;
}

// Counts from here, because verify() expects the bytes of the copies since now.
Status RouteRun::make_targets_wrong() {
  for (const auto& bound : bounds_) RG_TRY_OK(fill_target(*bound));
  lanes_->restart_count();
  return {};
}

Status RouteRun::restart() {
  RG_TRY_OK(make_targets_wrong());
  nothing_kept_ = true;
  least_coverage_ = 1;
  most_apart_ = 0;
  streams_ns_.assign(measured_, 0);
  samples_without_load_ = 0;
  return {};
}

// Gives each flow its areas, seeds and rotation. The measured flows come first.
Status RouteRun::bind(const Route& route,
                      const std::vector<std::pair<const Area*, const Area*>>& areas,
                      std::uint64_t size) {
  RG_CHECK(areas.size() == route.flows.size() && route.flows.front().measured);
  for (std::size_t i = 0; i < areas.size(); ++i) {
    const Flow& flow = route.flows[i];
    const std::uint64_t copy_bytes = copy_bytes_of(flow, size);
    const Rotation rotation = rotation_of(parts_.engine, copy_bytes, parts_.cache_bytes);
    const auto beside = std::ranges::count_if(route.flows, [&flow](const Flow& other) {
      return other.runs_on->index() == flow.runs_on->index();
    });
    bounds_.push_back(std::make_unique<Bound>(
        Bound{.flow = flow,
              .source = areas[i].first,
              .target = areas[i].second,
              .rotation = rotation,
              .copy_bytes = rotation.copy_bytes(),
              .beside = static_cast<std::uint64_t>(beside),
              .again_bytes = again_bytes(flow, parts_.engine, rotation.copy_bytes()),
              .source_seed = kSeed + parts_.seed_offset + 2 * i,
              .target_seed = kSeed + parts_.seed_offset + 2 * i + 1,
              .sizing = LoadSizing(static_cast<double>(size) / static_cast<double>(copy_bytes))}));
    if (flow.measured) ++measured_;
  }
  streams_ns_.assign(measured_, 0);
  return {};
}

// With a kernel that copies both ways, each end is both source and target.
Status RouteRun::fill_source(const Bound& bound) {
  if (moves_both_ways(parts_.engine)) return fill_target(bound);
  return parts_.kits->fill(*bound.source, bound.rotation.region_bytes(), bound.source_seed);
}

Status RouteRun::fill_target(const Bound& bound) {
  const std::uint64_t bytes = bound.rotation.region_bytes();
  if (moves_both_ways(parts_.engine))
    return parts_.kits->fill_both(*bound.flow.runs_on, *bound.target, *bound.source, bytes,
                                  bound.source_seed);
  return parts_.kits->fill(*bound.target, bytes, bound.target_seed);
}

// One lane for each flow. The first operation of each runs without a gate.
Status RouteRun::start_lanes() {
  RG_TRY_OK(bounds_.front()->flow.runs_on->make_current());
  lanes_ = RG_TRY(Lanes::create(*bounds_.front()->flow.runs_on));
  for (const auto& owned : bounds_) {
    const Bound* bound = owned.get();
    const Kits* kits = parts_.kits;
    const std::uint64_t beyond = parts_.writes_beyond;
    RG_TRY_OK(lanes_->add(
        *bound->flow.runs_on, [bound, kits, beyond](cu::Stream stream, std::uint64_t copy) {
          const std::uint64_t offset = bound->rotation.offset(copy);
          Kits::Copy one{.runs_on = bound->flow.runs_on,
                         .target = bound->target->address() + offset + beyond,
                         .source = bound->source->address() + offset,
                         .bytes = bound->copy_bytes,
                         .beside = bound->beside};
          if (Status done = kits->copy(one, stream); !done || bound->again_bytes == 0) return done;
          one.bytes = bound->again_bytes;
          return kits->copy(one, stream);
        }));
  }
  return lanes_->touch(parts_.deadline_monotonic_ns);
}

// The time of one copy in ns, by the slowest stream.
Result<double> RouteRun::time_copies(std::uint64_t copies) {
  const auto marks = RG_TRY(run(1, copies));
  double longest_ns = 0;
  for (std::size_t i = 0; i < measured_; ++i) longest_ns = std::max(longest_ns, marks[i].back());
  return longest_ns / static_cast<double>(copies);
}

// Repeats long copies until one is no faster than the previous one. The sampler's own warm-up would
// cost more copies than a long copy needs samples. Waiting for equal times would not end where
// others use the host's memory too.
Status RouteRun::repeat_until_steady(double copy_ns) {
  constexpr double kLongCopyNs = 1e6;
  constexpr double kFaster = 0.01;
  constexpr int kMostRepeats = 5;
  if (copy_ns < kLongCopyNs) return {};
  for (int i = 0; i < kMostRepeats && !warm_; ++i) {
    const double again_ns = RG_TRY(time_copies(1));
    warm_ = again_ns >= (1 - kFaster) * copy_ns;
    copy_ns = again_ns;
  }
  if (warm_) sample_ns_ = copy_ns * static_cast<double>(copies_in_sample());
  return {};
}

// Chooses, by the time of one copy, how many copies share a sample and a gate.
Status RouteRun::probe() {
  constexpr std::uint64_t kShortBytes = 1U << 20U;
  constexpr std::uint64_t kShortCopies = 8;
  const Bound& first = *bounds_.front();
  const std::uint64_t most = loaded() ? kMostWhenLoaded : Lanes::kMaxQueued;
  const std::uint64_t copies = first.copy_bytes <= kShortBytes ? kShortCopies : 1;
  const double copy_ns = RG_TRY(time_copies(copies));
  const std::uint64_t marks = measured_ > 1 ? kMarksOfMany : 1;
  repeat_ = parts_.copies_in_sample == 0
                ? choose_repeat(copy_ns, most / marks)
                : std::max<std::uint64_t>(1, parts_.copies_in_sample / marks);
  batch_ = choose_batch(copy_ns, repeat_ * marks, most);
  return repeat_until_steady(copy_ns);
}

// Updates the loads' speeds for the next run and returns the samples that the shortest load
// covered; with several measured streams a run is one sample. `copies` counts a measured stream's
// copies.
Covered RouteRun::follow_load(const std::vector<Lanes::Passed>& passed, std::uint64_t copies) {
  double end_ns = 0;
  for (std::size_t i = 0; i < measured_; ++i) end_ns = std::max(end_ns, passed[i].marks_ns.back());
  Stretch all{0, std::numeric_limits<double>::infinity()};  // the loads together
  for (std::size_t i = measured_; i < bounds_.size(); ++i) {
    Bound& load = *bounds_[i];
    const Stretch own{passed[i].opened_ns, passed[i].marks_ns.back()};
    if (own.begin_ns > kGateSkewNs) all.begin_ns = std::max(all.begin_ns, own.begin_ns);
    all = {all.begin_ns, std::min(all.end_ns, own.end_ns)};
    load.sizing.saw({.measured_copies = copies,
                     .measured_ns = end_ns,
                     .load_copies = load.load_copies,
                     .load_ns = own.end_ns - own.begin_ns});
  }
  return covered_samples(measured_ == 1 ? passed.front().marks_ns : std::vector{end_ns}, all);
}

tl::unexpected<Error> RouteRun::load_too_short(double coverage, std::uint64_t copies) const {
  return fail(
      Code::kFailedPrecondition,
      fmt::format("{}: copy under load: the load, {} copies of {} bytes, ended at {:.2f} of "
                  "a sample; measure larger sizes",
                  bounds_.front()->flow.runs_on->name(), copies, bounds_.back()->copy_bytes,
                  coverage));
}

// Runs `marks` times `repeat` copies of each measured flow beside its load. Returns the marks of
// each. A single measured stream keeps only the marks that had their load, at least one.
Result<std::vector<std::vector<double>>> RouteRun::run(std::uint64_t marks, std::uint64_t repeat) {
  if (parts_.by_cpu) {
    std::vector<std::vector<double>> only;
    only.push_back(
        RG_TRY(lanes_->run_by_cpu(*parts_.clock, {marks, repeat}, parts_.deadline_monotonic_ns)));
    return only;
  }
  for (int attempt = 1;; ++attempt) {
    std::vector<Lanes::Quota> quotas(measured_, {marks, repeat});
    std::uint64_t most_load = 0;
    for (std::size_t i = measured_; i < bounds_.size(); ++i) {
      Bound& load = *bounds_[i];
      load.load_copies = load.sizing.copies_for(marks * repeat, kMostLoadCopies);
      most_load = std::max(most_load, load.load_copies);
      quotas.push_back({1, load.load_copies});
    }
    const auto passed = RG_TRY(lanes_->run(quotas, parts_.deadline_monotonic_ns));
    std::vector<std::vector<double>> measured;
    // A single stream's rate does not depend on when its load began.
    for (std::size_t i = 0; i < measured_; ++i)
      measured.push_back(measured_ == 1 ? passed[i].own_marks_ns() : passed[i].marks_ns);
    if (!loaded()) return measured;
    const Covered covered = follow_load(passed, marks * repeat);
    samples_without_load_ += (measured_ == 1 ? marks : 1) - covered.samples;
    if (covered.samples > 0) {
      least_coverage_ = std::min(least_coverage_, covered.least);
      nothing_kept_ = false;
      if (measured_ == 1) measured.front().resize(covered.samples);
      return measured;
    }
    // A load of the most copies is tried as often: the host may have been away while it ran.
    if (attempt == kLoadAttempts) return load_too_short(covered.lacking, most_load);
    if (nothing_kept_) RG_TRY_OK(make_targets_wrong());  // by what is not kept, nothing is proved
  }
}

// The bytes of one copy that count in the figure.
double RouteRun::counted_bytes(const Bound& bound) const {
  const auto bytes = static_cast<double>(bound.copy_bytes);
  if (!moves_both_ways(parts_.engine)) return bytes;
  return bytes / 2 * (parts_.engine == Engine::kSmBothAgain ? kTimesAgain : 1);
}

// One measured stream yields a sample for each mark, several streams one for each run.
Status RouteRun::sample(std::uint64_t count, std::vector<double>& out) {
  const auto repeat = static_cast<double>(repeat_);
  if (measured_ == 1) {
    const double bytes = counted_bytes(*bounds_.front()) * repeat;
    const std::uint64_t most = loaded() ? kMostWhenLoaded : Lanes::kMaxQueued;
    while (count > 0) {
      const std::uint64_t now = std::min(count, most / repeat_);
      const auto marks = RG_TRY(run(now, repeat_));
      for (const double step : steps_ns(marks.front())) out.push_back(bytes / (step / 1e9));
      count -= marks.front().size();
    }
    return {};
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    auto passed = RG_TRY(run(kMarksOfMany, repeat_));
    std::vector<Marks> streams;
    for (std::size_t flow = 0; flow < measured_; ++flow) {
      streams_ns_[flow] += passed[flow].back();
      streams.push_back({std::move(passed[flow]), counted_bytes(*bounds_[flow]) * repeat});
    }
    most_apart_ = std::max(most_apart_, ended_apart(streams));
    out.push_back(overlap_of(streams).rate());
  }
  return {};
}

// Compares the bytes of every flow, the loads' too.
Status RouteRun::verify() {
  for (std::size_t i = 0; i < bounds_.size(); ++i) {
    const Bound& bound = *bounds_[i];
    if (moves_both_ways(parts_.engine)) {
      const std::uint64_t slices = std::min(lanes_->operations(i), bound.rotation.slots());
      for (const Area* end : {bound.target, bound.source})
        RG_TRY_OK(parts_.kits->verify(*end, slices * bound.copy_bytes, bound.source_seed));
      continue;
    }
    if (bound.rotation.rotates()) {
      RG_TRY_OK(parts_.kits->verify_slots(*bound.target, bound.rotation, lanes_->operations(i),
                                          bound.source_seed, bound.target_seed));
      continue;
    }
    RG_TRY_OK(parts_.kits->verify(*bound.target, bound.copy_bytes, bound.source_seed));
  }
  return {};
}

bool RouteRun::slowed() const {
  return std::ranges::any_of(bounds_, [](const auto& bound) { return bound->again_bytes > 0; });
}

std::uint64_t RouteRun::copies_in_sample() const {
  return measured_ > 1 ? repeat_ * kMarksOfMany : repeat_;
}

// Facts that explain how the figure was counted.
void RouteRun::report_facts(Point& point) const {
  auto& facts = *point.mutable_facts();
  facts["timed_by"] = parts_.by_cpu ? "cpu: a copy of pageable memory returns when it is done"
                                    : "gpu events, the stream held until all is queued";
  facts["copies_in_sample"] = std::to_string(copies_in_sample());
  const Rotation& rotation = bounds_.front()->rotation;
  if (rotation.rotates() && !moves_both_ways(parts_.engine))
    facts["rotates_bytes"] = std::to_string(rotation.region_bytes());
  if (measured_ > 1) {
    facts["streams"] = std::to_string(measured_);
    facts["streams_ended_apart"] = fmt::format("{:.3f}", most_apart_);
    const std::vector<double> shares = shares_of_rate(streams_ns_);
    std::string text;
    for (std::size_t i = 0; i < measured_; ++i) {
      const Flow& flow = bounds_[i]->flow;
      text += fmt::format("{}{}>{} {:.3f}", i == 0 ? "" : ", ", name_of_end(flow.source),
                          name_of_end(flow.target), shares[i]);
    }
    facts["stream_shares"] = text;
  }
  if (slowed()) facts["slowed"] = "by the failpoint slow_gpu: a twentieth is copied twice";
  if (const Bound& first = *bounds_.front();
      parts_.kits->copy_blocks(*first.flow.runs_on, first.beside) > 0 && first.beside > 1)
    facts["copy_blocks"] =
        fmt::format("{} of each of {} copies that one GPU runs",
                    parts_.kits->copy_blocks(*first.flow.runs_on, first.beside), first.beside);
  if (loaded()) {
    facts["load_coverage"] = fmt::format("{:.3f}", least_coverage_);
    facts["samples_without_load"] = std::to_string(samples_without_load_);
  }
  if (moves_both_ways(parts_.engine))
    facts["bytes_counted"] = "half of the size: what one kernel moves one way";
  if (parts_.engine == Engine::kSmBothAgain)
    facts["bytes_counted"] +=
        fmt::format(", each byte {} times; a launch moves a slice of {} bytes", kTimesAgain,
                    bounds_.front()->copy_bytes);
}

}  // namespace railgauge::cuda
