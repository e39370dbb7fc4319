#include "agent/fleet/model/modelled_fabric.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "agent/fleet/model/modelled_task.h"
#include "agent/fleet/model/node_state.h"
#include "agent/fleet/model/noise.h"
#include "agent/fleet/model/sample_shape.h"

namespace railgauge::fleet {
namespace {

// Latency of a way through a spine beyond that of one inside a leaf.
constexpr double kSpineNs = 350;
// GPU memory by a NIC: a bit slower than the host's.
constexpr double kGpuMemoryNs = 400;
constexpr double kGpuMemoryShare = 0.985;
constexpr double kBothShare = 1.95;
constexpr double kUnderLoadShare = 0.9;
constexpr double kTcpRate = 4e9;
// A NIC sends this many packets again for one that is lost (go-back-N), or waits for a timeout
// where it was the last one.
constexpr double kResentPackets = 64;
constexpr double kPacketBytes = 4'096;
constexpr double kResendNs = 4e6;
constexpr double kLatencySpread = 0.02;
constexpr double kRateSpread = 0.006;
constexpr double kLatencySamples = 1'000;
constexpr double kWindowNs = 1e6;
constexpr double kLatencyUpToBytes = 1U << 20U;
constexpr std::array kMapFactors{1.0, 0.35, 0.01, 0.2, 0.6};
constexpr double kCrossoverBytes = 24 * 1'024;
// Shares of the join: itself, the first call, the split, the end.
constexpr std::array kStartUpFactors{1.0, 0.4, 0.3, 0.1};
constexpr double kHighestShare = 0.9995;

// The slowest of the task's nodes.
struct Hardware {
  double latency_ns = 0;
  double nic_rate = 0;
  double line_rate = 0;
  double gpu_rate = 0;
  double pcie_rate = 0;
  double nics = 0;
};

Hardware slowest(const Scenario& scenario, std::span<const Place> places) {
  Hardware out;
  const HardwareClass* before = nullptr;
  for (const Place& place : places) {
    const HardwareClass& own = scenario.hardware(place.node);
    if (&own == before) continue;
    const bool first = before == nullptr;
    const auto least = [first](double a, double b) { return first ? b : std::min(a, b); };
    out.latency_ns = std::max(out.latency_ns, own.latency_ns);
    out.nic_rate = least(out.nic_rate, own.nic_rate * own.reaches);
    out.line_rate = least(out.line_rate, own.nic_rate);
    out.gpu_rate = least(out.gpu_rate, own.gpu_rate);
    out.pcie_rate = least(out.pcie_rate, own.pcie_rate);
    out.nics = least(out.nics, own.nics);
    before = &own;
  }
  return out;
}

// The healthy figures of a task, from which those of each size follow.
struct HealthyTask {
  double base_ns = 0;
  double pace = 0;
  // No rate can exceed it; 0: unknown.
  double ceiling = 0;
  double bus = 1;
  bool on_wire = false;
};

HealthyTask healthy(const Scenario& scenario, const PreparedTask& task) {
  const KernelShape& shape = *task.shape;
  const Hardware hardware = slowest(scenario, task.places);
  const bool all_to_all = shape.route == Route::kAllToAll;
  const auto on_two_nodes = [&](const Place& place) {
    return place.node != task.places.front().node;
  };
  HealthyTask out;
  out.on_wire = all_to_all ? std::ranges::any_of(task.places, on_two_nodes)
                           : std::ranges::any_of(task.flows, &Flow::on_wire);
  const bool far =
      all_to_all ? std::ranges::any_of(task.places,
                                       [&](const Place& place) {
                                         return scenario.leaf_of(place.node) !=
                                                scenario.leaf_of(task.places.front().node);
                                       })
                 : std::ranges::any_of(
                       task.flows, [&](const Flow& flow) { return leaves_leaf(scenario, flow); });
  const double ranks = static_cast<double>(task.places.size());
  out.base_ns = shape.base_ns;
  if (out.on_wire) out.base_ns += shape.latencies * (hardware.latency_ns + (far ? kSpineNs : 0));
  // The steps of a collective grow with the logarithm of its ranks.
  if (shape.bus > 0) out.base_ns *= std::max(1.0, std::log2(ranks));
  if (shape.bus > 0) out.bus = shape.bus * (ranks - 1) / ranks;
  switch (shape.pace) {
    case KernelShape::Pace::kNic:
      out.pace = hardware.nic_rate;
      out.ceiling = hardware.line_rate;
      break;
    case KernelShape::Pace::kGpu:
      out.pace = out.on_wire ? std::min(hardware.gpu_rate, hardware.nic_rate * hardware.nics)
                             : hardware.gpu_rate;
      break;
    case KernelShape::Pace::kPcie:
      out.pace = hardware.pcie_rate;
      break;
    case KernelShape::Pace::kCpu:
      out.pace = std::min(kTcpRate, hardware.nic_rate);
      break;
  }
  out.pace *= shape.share;
  if (shape.pace == KernelShape::Pace::kNic && task.options.gpu_memory) {
    out.pace *= kGpuMemoryShare;
    out.base_ns += shape.metrics == Metrics::kLatency ? kGpuMemoryNs : 0;
  }
  if (task.options.both && is_of_fabric(shape)) {
    out.pace *= kBothShare;
    out.ceiling *= 2;
  }
  if (task.options.under_load) out.pace *= kUnderLoadShare;
  return out;
}

// Makes the points of one task.
class PointMaker {
 public:
  PointMaker(const Scenario& scenario, const ModelledTask& task, const PreparedTask& prepared,
             const TaskHarm& harm)
      : scenario_(scenario),
        task_(task),
        prepared_(prepared),
        harm_(harm),
        healthy_(healthy(scenario, prepared)),
        flatters_(agent_at(scenario, prepared.places.front().node, task.time_ns).flatters) {}

  // Appends all points of one size.
  void add(std::uint64_t size, ModelledResult& result) {
    const DrawKey series = prepared_.series.with("size").with(size);
    const NoisyFigure noisy{.kernel = task_.kernel,
                            .node = prepared_.places.front().node,
                            .series = series,
                            .time_ns = task_.time_ns};
    const double noise = noise_factor(scenario_, noisy);
    const auto names = metric_names(prepared_.shape->metrics);
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (is_left_out(names[i], size)) continue;
      // All metrics of a size come from the same samples.
      const double right = figure(i, static_cast<double>(size), 1, false);
      double value = figure(i, static_cast<double>(size), noise, true);
      value = quantised(scenario_, noisy, value, right);
      value = names[i].ends_with("per_second") ? value * flatters_ : value / flatters_;
      result.points.push_back(make_point(names[i], size, value, series.with(task_.time_ns)));
      result.measure_ns = std::max(result.measure_ns, result.points.back().measure_ns());
    }
  }

 private:
  [[nodiscard]] bool is_left_out(std::string_view metric, std::uint64_t size) const {
    if (prepared_.shape->metrics != Metrics::kCollective) return false;
    if (metric == "latency_ns") return static_cast<double>(size) > kLatencyUpToBytes;
    return metric == "busbw_bytes_per_second" && prepared_.places.size() < 2;
  }

  // The time of one operation.
  [[nodiscard]] double time_ns(double bytes, bool harmed) const {
    const double left = harmed ? bandwidth_left() : 1;
    const double adds = harmed ? harm_.adds_ns : 0;
    return healthy_.base_ns + adds + bytes * healthy_.bus / (healthy_.pace * left) * 1e9;
  }
  // Messages a second of a stream: it hides latency, so that what a fault adds to it costs nothing.
  [[nodiscard]] double messages_per_second(double bytes, bool harmed) const {
    const double left = harmed ? bandwidth_left() : 1;
    const double rate = 1e9 / (healthy_.base_ns + bytes / healthy_.pace * 1e9);
    return rate * left;
  }
  [[nodiscard]] double bandwidth_left() const {
    return harm_.left / (1 + kResentPackets * harm_.loss);
  }

  // The figure of the metric with that number; `noise` is a factor on times.
  [[nodiscard]] double figure(std::size_t metric, double bytes, double noise, bool harmed) const {
    switch (prepared_.shape->metrics) {
      case Metrics::kLatency:
        return time_ns(bytes, harmed) * noise;
      case Metrics::kRate:
      case Metrics::kRateAndMessages:
        return rate(metric == 0 ? "bandwidth" : "messages", bytes, noise, harmed);
      case Metrics::kMessages:
        return rate("messages", bytes, noise, harmed) *
               std::max(1.0, static_cast<double>(prepared_.places.size()) / 2);
      case Metrics::kCollective: {
        const double time = time_ns(bytes, harmed) * noise;
        if (metric == 0) return time;
        return bytes / time * 1e9 * (metric == 2 ? healthy_.bus : 1);
      }
      case Metrics::kMapCosts:
        return time_ns(bytes, harmed) * noise * kMapFactors.at(metric);
      case Metrics::kCrossover:
        return metric == 0 ? time_ns(bytes, harmed) * noise : kCrossoverBytes * noise;
      case Metrics::kCheck:
        return time_ns(0, harmed) * noise;
      case Metrics::kStartUp:
        return time_ns(0, harmed) * noise * kStartUpFactors.at(metric);
    }
    return 0;
  }
  [[nodiscard]] double rate(std::string_view of, double bytes, double noise, bool harmed) const {
    const double unit = bytes > 0 ? bytes : 8;
    double per_second = messages_per_second(unit, harmed) / noise;
    // Atomics and streams of a kernel whose pace is the wire's never exceed it.
    if (healthy_.ceiling > 0)
      per_second = std::min(per_second, healthy_.ceiling * kHighestShare / unit);
    return of == "messages" ? per_second : per_second * unit;
  }

  [[nodiscard]] std::string meaning() const {
    const bool stream = prepared_.shape->meaning == "unidirectional";
    if (stream && prepared_.options.both) return "bidirectional_sum";
    return std::string(prepared_.shape->meaning) +
           (prepared_.options.under_load ? "_under_load" : "");
  }

  [[nodiscard]] Point make_point(std::string_view metric, std::uint64_t size, double value,
                                 const DrawKey& key) const {
    Point point;
    const bool is_rate = metric.ends_with("per_second");
    const TaskOptions& options = prepared_.options;
    point.set_metric(std::string(metric));
    point.set_meaning(meaning());
    point.set_unit(metric.ends_with("_ns")                ? "ns"
                   : metric.ends_with("bytes_per_second") ? "bytes_per_second"
                   : is_rate                              ? "per_second"
                                                          : "bytes");
    point.set_larger_is_better(is_rate);
    point.set_message_bytes(static_cast<double>(size));
    SampleShape shape{.figure = value,
                      .is_rate = is_rate,
                      .spread = is_rate ? kRateSpread : kLatencySpread,
                      .raw_samples = task_.raw_samples};
    if (is_rate) {
      shape.measure_ns = options.measure_ns > 0 ? options.measure_ns : options.time_cap_ns;
      shape.count = std::max(1.0, std::floor(shape.measure_ns / kWindowNs));
    } else {
      const double wanted = options.iterations > 0    ? options.iterations
                            : options.min_samples > 0 ? options.min_samples
                                                      : kLatencySamples;
      const double each = std::max(value, 1.0) * (meaning() == "half_rtt" ? 2 : 1);
      shape.count = std::clamp(std::floor(options.time_cap_ns / each), 1.0, wanted);
      shape.measure_ns = shape.count * each;
      const double packets = std::max(1.0, std::ceil(static_cast<double>(size) / kPacketBytes));
      shape.resent_share = std::min(1.0, harm_.loss * packets);
      shape.resend_ns = kResendNs;
    }
    add_pauses(key, shape);
    fill_statistics(shape, key.with(metric), point);
    point.set_verified(true);
    point.set_synthetic(true);
    return point;
  }

  // Pauses that fall into the time measured; the first one is at a random place.
  void add_pauses(const DrawKey& key, SampleShape& shape) const {
    if (harm_.stall_every_ns <= 0) return;
    const double first = key.with("stall").uniform();
    shape.pauses = std::floor(shape.measure_ns / harm_.stall_every_ns + first);
    shape.pause_ns = harm_.stall_ns;
  }

  const Scenario& scenario_;
  const ModelledTask& task_;
  const PreparedTask& prepared_;
  const TaskHarm& harm_;
  HealthyTask healthy_;
  double flatters_;
};

// Bytes that the points moved, for the count of lost packets.
double moved_bytes(const ModelledResult& result) {
  double bytes = 0;
  for (const Point& point : result.points)
    if (point.metric() == "bandwidth_bytes_per_second")
      bytes += point.median() * point.measure_ns() / 1e9;
    else if (point.unit() == "ns")
      bytes += point.sample_count() * std::max(1.0, point.message_bytes());
  return bytes;
}

// Lost packets show at both ends: the receiver sees gaps, the sender is asked to repeat. A loss in
// a port or its cable shows as broken symbols there too.
void add_counters(const Scenario& scenario, const ModelledTask& task, const PreparedTask& prepared,
                  const TaskHarm& harm, ModelledResult& result) {
  result.counters.resize(task.ranks.size());
  if (!harm.is_lossy || !is_of_fabric(*prepared.shape)) return;
  const auto lost =
      static_cast<std::uint64_t>(std::ceil(moved_bytes(result) / kPacketBytes * harm.loss));
  for (std::size_t rank = 0; rank < task.ranks.size() && rank < prepared.places.size(); ++rank) {
    const Place& place = prepared.places[rank];
    bool sends = false;
    bool receives = false;
    bool broken = false;
    for (std::size_t i = 0; i < scenario.faults.size(); ++i) {
      const Fault& fault = scenario.faults[i];
      if (fault.harm.loss <= 0 || !is_there(scenario, i, task.time_ns)) continue;
      for (const Flow& flow : prepared.flows) {
        if (!crosses(scenario, fault, flow)) continue;
        sends = sends || flow.from == place;
        receives = receives || flow.to == place;
        broken = broken || (fault.part == Part::kPort && std::cmp_equal(fault.node, place.node) &&
                            fault.nic == place.nic);
      }
    }
    Counters& counters = result.counters[rank];
    if (sends) counters["packet_seq_err"] = lost;
    if (receives) counters["out_of_sequence"] = lost;
    if (broken) counters["symbol_error"] = lost;
  }
}

void add_facts(const Scenario& scenario, const PreparedTask& task, ModelledResult& result) {
  auto& facts = result.facts;
  facts["synthetic"] = "true";
  facts["path"] = "modelled";
  facts["memory"] = task.options.gpu_memory ? "cuda" : "host";
  if (!is_of_fabric(*task.shape)) return;
  const HardwareClass& hardware = scenario.hardware(task.places.front().node);
  facts["port_rate_bits_per_second"] = fmt::format("{:.0f}", hardware.nic_rate * 8);
  facts["link_layer"] = hardware.link_layer == LinkLayer::kInfiniband ? "infiniband" : "ethernet";
}

ModelledResult ended(std::string outcome, std::string reason, std::size_t ranks) {
  ModelledResult result;
  result.outcome = std::move(outcome);
  result.reason = std::move(reason);
  result.facts["synthetic"] = "true";
  result.counters.resize(ranks);
  return result;
}

}  // namespace

ModelledResult ModelledFabric::run(const ModelledTask& task) const {
  const auto prepared = prepare(scenario_, task);
  if (!prepared) return ended("waived", prepared.error().message, task.ranks.size());
  if (const LostFunction* lost = lost_function(scenario_, task, *prepared))
    return ended(lost->outcome, lost->reason, task.ranks.size());
  const TaskHarm harm = harm_to(scenario_, task, *prepared);
  if (!harm.down.empty()) return ended("failed", harm.down, task.ranks.size());
  ModelledResult result;
  PointMaker maker(scenario_, task, *prepared, harm);
  for (const std::uint64_t size : prepared->options.sizes) maker.add(size, result);
  add_facts(scenario_, *prepared, result);
  add_counters(scenario_, task, *prepared, harm, result);
  return result;
}

}  // namespace railgauge::fleet
