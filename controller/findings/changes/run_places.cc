#include "controller/findings/changes/run_places.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/upgrades/series_measure.h"
#include "controller/upgrades/upgrade_stack.h"
#include "kernels/core/base/clock.h"
#include "kernels/core/base/lookup.h"

namespace railgauge {
namespace {

// Stacks of a node that are read, the newest first.
constexpr std::uint32_t kEpochsOfNode = 50;

// The hardware as a text. The rate of a NIC is its present link rate, so the node's fastest NIC
// represents its capability.
std::string hardware_of(const store::NodeRow& node) {
  std::set<std::string> drivers;
  std::map<std::string, int> gpus;
  double rate = 0;
  int nics = 0;
  for (const store::EndpointRow& endpoint : node.endpoints) {
    if (endpoint.kind == "gpu") ++gpus[endpoint.model];
    if (endpoint.kind != "nic") continue;
    ++nics;
    drivers.insert(endpoint.driver);
    rate = std::max(rate, endpoint.rate_bits_per_second);
  }
  std::string text = fmt::format("{} NICs {} {:.0f}", nics, fmt::join(drivers, ","), rate);
  for (const auto& [model, count] : gpus) text += fmt::format(" {} GPUs {}", count, model);
  return text;
}

}  // namespace

KeptRunPlaces::KeptRunPlaces(const store::Store& store, LeafSource leaves, Clock clock)
    : store_(store),
      leaves_(std::move(leaves)),
      clock_(clock ? std::move(clock) : [] { return monotonic_now_ns() / 1e9; }) {}

Result<std::shared_ptr<const RunPlaces>> KeptRunPlaces::get(const std::string& newest) {
  const std::lock_guard lock(mutex_);
  const double now = clock_();
  if (kept_ && newest == newest_ && now - read_seconds_ < kMostSeconds) return kept_;
  kept_ = std::make_shared<const RunPlaces>(RG_TRY(RunPlaces::of(store_, leaves_)));
  newest_ = newest;
  read_seconds_ = now;
  return kept_;
}

// Counts the different leaves and kinds of hardware, so that marks of the whole fabric can be left
// out.
Result<RunPlaces> RunPlaces::of(const store::Store& store, const LeafSource& leaves) {
  std::vector<store::NodeRow> nodes = RG_TRY(store.list_nodes());
  // Where several nodes had one name, the node that was seen last keeps it.
  std::ranges::stable_sort(nodes, {}, &store::NodeRow::last_seen_at);
  RunPlaces out(store, PortMap(nodes, leaves ? leaves(nodes) : LeafMap()));
  for (const store::NodeRow& node : nodes) {
    out.ids_[node.name] = node.node_id;
    out.hardware_[node.name] = hardware_of(node);
    const auto nics = std::ranges::count(node.endpoints, "nic", &store::EndpointRow::kind);
    out.rails_ = std::max(out.rails_, static_cast<std::size_t>(nics));
    out.rail_rates_.resize(out.rails_);
    for (const store::EndpointRow& port : node.endpoints) {
      const std::int32_t rail =
          out.ports_.rail(node.name, fmt::format("{}:{}", port.device, port.port));
      if (port.kind != "nic" || rail < 0) continue;
      double& rate = out.rail_rates_[static_cast<std::size_t>(rail)];
      rate = std::max(rate, port.rate_bits_per_second);
    }
  }
  std::set<std::string> known;
  std::set<std::string> kinds;
  for (const auto& [node, hardware] : out.hardware_) {
    known.insert(out.ports_.leaf(node));
    kinds.insert(hardware);
  }
  out.leaves_ = known.size();
  out.kinds_ = kinds.size();
  return out;
}

// A node that is not known any more has the hardware "".
void RunPlaces::add_places(const store::SeriesRow& series, Places& places) const {
  for (const std::string& endpoint : series.endpoints) {
    const auto [node, port] = split_endpoint(endpoint);
    places.hardware.insert(value_of(hardware_, node));
    places.leaves.insert(ports_.leaf(node));
    places.rails.insert(ports_.rail(node, port));
  }
}

std::string RunPlaces::hardware(const std::string& node) const { return value_of(hardware_, node); }

std::string RunPlaces::id(const std::string& node) const { return value_of(ids_, node); }

// A mark is one that all ends have, that is known, and that the fabric has others of.
std::set<std::string> RunPlaces::common_of(const std::vector<store::SeriesRow>& all) const {
  Places places;
  for (const store::SeriesRow& series : all) add_places(series, places);
  const auto& [hardware, leaves, rails] = places;
  std::set<std::string> out;
  if (rails_ > 1 && rails.size() == 1 && *rails.begin() >= 0)
    out.insert(fmt::format("rail {}", *rails.begin()));
  if (leaves_ > 1 && leaves.size() == 1 && !leaves.begin()->empty())
    out.insert("leaf " + *leaves.begin());
  if (kinds_ > 1 && hardware.size() == 1 && !hardware.begin()->empty())
    out.insert("hardware " + *hardware.begin());
  return out;
}

// Hardware first, then the distance of the ends.
std::string RunPlaces::class_of(const store::SeriesRow& series) const {
  Places places;
  add_places(series, places);
  auto& [hardware, leaves, rails] = places;
  hardware.erase("");  // a node that is not known any more separates nothing
  std::string text = fmt::format("{}", fmt::join(hardware, " to "));
  if (series.endpoints.size() > 2) return text + fmt::format("; {} ends", series.endpoints.size());
  if (nodes_of(series).size() < 2) return text + "; local";
  return text + (leaves.size() > 1 ? "; across leaves" : "") +
         (rails.size() > 1 ? "; across rails" : "");
}

// An earlier stack is the present one where nothing differs that makes an upgrade, and no hardware
// was replaced since.
Result<const RunPlaces::Past*> RunPlaces::past_of(const std::string& node, double last) {
  const auto id = ids_.find(node);
  if (id == ids_.end()) return nullptr;
  if (!epochs_.contains(node))
    epochs_[node] = RG_TRY(store_->read(store::read_epochs, id->second, kEpochsOfNode));
  const std::vector<store::EpochRow>& epochs = epochs_[node];
  std::size_t newest = 0;
  while (newest < epochs.size() && epochs[newest].valid_from > last) ++newest;
  if (newest == epochs.size()) return nullptr;
  const auto [known, is_new] = pasts_.try_emplace({node, newest});
  Past& past = known->second;
  bool is_same_hardware = true;
  for (std::size_t i = 0; is_new && i < epochs.size(); ++i) {
    past.valid_from.push_back(epochs[i].valid_from);
    past.is_present.push_back(
        i <= newest ||
        (is_same_hardware && moved_to(epochs[i].parts, epochs[newest].parts).empty()));
    if (i >= newest && epochs[i].cause == kReplacedCause) is_same_hardware = false;
  }
  return &past;
}

// A time before the oldest epoch has an unknown stack, which counts as another one.
Result<std::vector<bool>> RunPlaces::present_stack(const store::SeriesRow& series,
                                                   const std::vector<double>& times) {
  if (times.empty()) return std::vector<bool>();
  std::vector<bool> out(times.size(), true);
  for (const std::string& node : nodes_of(series)) {
    const Past* past = RG_TRY(past_of(node, times.back()));
    if (past == nullptr) return std::vector<bool>();
    for (std::size_t i = 0; i < times.size(); ++i) {
      std::size_t epoch = 0;
      while (epoch < past->valid_from.size() && past->valid_from[epoch] > times[i]) ++epoch;
      if (epoch == past->valid_from.size() || !past->is_present[epoch]) out[i] = false;
    }
  }
  return out;
}

}  // namespace railgauge
