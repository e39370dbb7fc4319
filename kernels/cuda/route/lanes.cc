// Queueing behind the gate, the loads' later work, and the reading of the events.
#include "kernels/cuda/route/lanes.h"

#include <utility>

#include <fmt/format.h>

namespace railgauge::cuda {

Result<Lanes> Lanes::create(const gpu::Gpu& gpu) {
  return Lanes(RG_TRY(gpu::StreamGate::create(gpu)));
}

// The first event marks the opening; more are made in run().
Status Lanes::add(const gpu::Gpu& gpu, Enqueue enqueue) {
  auto lane = std::make_unique<Lane>();
  lane->gpu = &gpu;
  lane->enqueue = std::move(enqueue);
  RG_TRY_OK(gpu.make_current());
  lane->stream = RG_TRY(gpu::make_stream(gpu));
  lane->events.push_back(RG_TRY(gpu::make_event(gpu)));
  lanes_.push_back(std::move(lane));
  return {};
}

// Records event number `event` of the lane on its stream.
Status Lanes::stamp(Lane& lane, std::size_t event) {
  return gpu_status(
      *lane.gpu, loaded_cuda().event_record(lane.events[event].get(), lane.stream.get()), "stamp");
}

// Queues the lane's next operation.
Status Lanes::operate(Lane& lane) { return lane.enqueue(lane.stream.get(), lane.operations++); }

Status Lanes::touch(double deadline_monotonic_ns) {
  for (auto& lane : lanes_) {
    RG_TRY_OK(lane->gpu->make_current());
    RG_TRY_OK(operate(*lane));
    RG_TRY_OK(stamp(*lane, 0));
    RG_TRY_OK(gpu::wait_for(*lane->gpu, lane->events[0], deadline_monotonic_ns,
                            "copy for the first time"));
  }
  return {};
}

// Holds the stream, then queues the first part of the quota with its stamps.
Status Lanes::queue(Lane& lane, const Quota& quota) {
  RG_CHECK(quota.marks > 0 && quota.repeat > 0);
  RG_CHECK(quota.marks == 1 || quota.marks * quota.repeat <= kMaxQueued);
  RG_TRY_OK(lane.gpu->make_current());
  RG_TRY_OK(gate_.hold(*lane.gpu, lane.stream.get()));
  RG_TRY_OK(stamp(lane, 0));
  for (std::uint64_t i = 0; i < quota.queued_first();) {
    RG_TRY_OK(operate(lane));
    if (++i % quota.repeat == 0) RG_TRY_OK(stamp(lane, i / quota.repeat));
  }
  return {};
}

// Queues the rest behind the open gate, the lanes in turn. A full queue blocks its caller, and no
// other lane may run dry meanwhile.
Status Lanes::queue_rest(const std::vector<Quota>& quotas, double deadline_monotonic_ns) {
  constexpr std::uint64_t kAtOnce = 32;
  bool more = true;
  for (std::uint64_t done = 0; more; done += kAtOnce) {
    more = false;
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      const std::uint64_t later = quotas[i].queued_later();
      if (later <= done) continue;
      Lane& lane = *lanes_[i];
      if (monotonic_now_ns() >= deadline_monotonic_ns)
        return fail(Code::kDeadlineExceeded,
                    lane.gpu->name() + ": queue copies: not done at the task's deadline");
      RG_TRY_OK(lane.gpu->make_current());
      const std::uint64_t now = std::min(kAtOnce, later - done);
      for (std::uint64_t copy = 0; copy < now; ++copy) RG_TRY_OK(operate(lane));
      if (done + now == later) RG_TRY_OK(stamp(lane, 1));
      more = more || done + now < later;
    }
  }
  return {};
}

Status Lanes::queue_all(const std::vector<Quota>& quotas) {
  for (std::size_t i = 0; i < lanes_.size(); ++i) RG_TRY_OK(queue(*lanes_[i], quotas[i]));
  return {};
}

// Waits for work that was queued before a failure: it must end before its buffers do.
void Lanes::drain(double deadline_monotonic_ns) {
  for (auto& lane : lanes_) {
    if (!lane->gpu->make_current()) continue;
    while (loaded_cuda().stream_query(lane->stream.get()) == cu::kNotReady &&
           monotonic_now_ns() < deadline_monotonic_ns) {
    }
  }
}

Result<std::vector<Lanes::Passed>> Lanes::run(const std::vector<Quota>& quotas,
                                              double deadline_monotonic_ns) {
  RG_CHECK(quotas.size() == lanes_.size());
  // Made before the gate closes: a call that waits for the GPU would wait for ever behind it.
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    RG_TRY_OK(lanes_[i]->gpu->make_current());
    while (lanes_[i]->events.size() <= quotas[i].marks)
      lanes_[i]->events.push_back(RG_TRY(gpu::make_event(*lanes_[i]->gpu)));
  }
  Status queued = queue_all(quotas);
  const double open_at_ns = std::min(std::exchange(open_at_ns_, 0), deadline_monotonic_ns);
  // Ranks that copy at once open their gates at one time.
  while (queued && monotonic_now_ns() < open_at_ns) {
  }
  opened_ns_ = monotonic_now_ns();
  gate_.release();  // also after an error
  if (queued) queued = queue_rest(quotas, deadline_monotonic_ns);
  if (!queued) {
    drain(deadline_monotonic_ns);
    return tl::unexpected(queued.error());
  }
  std::vector<Passed> passed(lanes_.size());
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    auto read = read_marks(*lanes_[i], quotas[i].marks, deadline_monotonic_ns);
    if (!read) drain(deadline_monotonic_ns);
    passed[i] = RG_TRY(std::move(read));
  }
  count_from_opening(passed);
  return passed;
}

// Moves the origin of each GPU's times to the earliest begin of its lanes. The first lane need not
// be the first to begin: behind another stream's copies in a hardware queue it begins last.
void Lanes::count_from_opening(std::vector<Passed>& passed) const {
  std::vector<double> openings;
  for (const auto& lane : lanes_) {
    double earliest = 0;
    for (std::size_t i = 0; i < lanes_.size(); ++i)
      if (lanes_[i]->gpu->index() == lane->gpu->index())
        earliest = std::min(earliest, passed[i].opened_ns);
    openings.push_back(earliest);
  }
  for (std::size_t i = 0; i < passed.size(); ++i) {
    passed[i].opened_ns -= openings[i];
    for (double& mark : passed[i].marks_ns) mark -= openings[i];
  }
}

// Waits for the lane's last event and reads all of them, in ns after the begin of the first lane on
// the same GPU: CUDA relates no events of different GPUs.
Result<Lanes::Passed> Lanes::read_marks(Lane& lane, std::uint64_t marks,
                                        double deadline_monotonic_ns) {
  RG_TRY_OK(lane.gpu->make_current());
  RG_TRY_OK(gpu::wait_for(*lane.gpu, lane.events[marks], deadline_monotonic_ns, "measure copies"));
  const auto first = std::ranges::find_if(
      lanes_, [&](const auto& other) { return other->gpu->index() == lane.gpu->index(); });
  const gpu::Event& origin = (*first)->events[0];
  const auto after_origin = [&](const gpu::Event& event) -> Result<double> {
    float milliseconds = 0;
    RG_TRY_OK(gpu_status(*lane.gpu,
                         loaded_cuda().event_elapsed_time(&milliseconds, origin.get(), event.get()),
                         "read the stamps"));
    return static_cast<double>(milliseconds) * 1e6;
  };
  Passed out;
  if (first->get() != &lane) out.opened_ns = RG_TRY(after_origin(lane.events[0]));
  for (std::size_t mark = 1; mark <= marks; ++mark)
    out.marks_ns.push_back(RG_TRY(after_origin(lane.events[mark])));
  return out;
}

// A mark is the end of the stream's work, by the CPU's clock.
Result<std::vector<double>> Lanes::run_by_cpu(const TickClock& clock, const Quota& quota,
                                              double deadline_monotonic_ns) {
  Lane& lane = *lanes_.front();
  RG_TRY_OK(lane.gpu->make_current());
  std::vector<double> marks;
  const std::uint64_t begin = clock.ticks();
  for (std::uint64_t mark = 0; mark < quota.marks; ++mark) {
    for (std::uint64_t i = 0; i < quota.repeat; ++i) RG_TRY_OK(operate(lane));
    RG_TRY_OK(gpu_status(*lane.gpu, loaded_cuda().stream_synchronize(lane.stream.get()),
                         "wait for copies"));
    marks.push_back(clock.to_ns(clock.ticks() - begin));
    if (monotonic_now_ns() >= deadline_monotonic_ns)
      return fail(
          Code::kDeadlineExceeded,
          fmt::format("{}: measure copies: not done at the task's deadline", lane.gpu->name()));
  }
  return marks;
}

}  // namespace railgauge::cuda
