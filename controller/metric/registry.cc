#include "controller/metric/registry.h"

#include <algorithm>
#include <mutex>
#include <set>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "kernels/core/text/text.h"

namespace railgauge::metric {
namespace {
constexpr std::string_view kRefused = "railgauge_series_refused_total";

// Label values come from peers and devices, and a page may be read at a terminal. A scrape with
// bytes outside UTF-8 would be refused as a whole.
Labels safe(const Labels& labels) {
  Labels shown;
  for (const auto& [label, value] : labels) shown.emplace(label, printable(value));
  return shown;
}

template <class Value>
struct Family {
  const Info* info = nullptr;
  std::vector<std::string_view> labels{};
  prometheus::Family<Value>* family = nullptr;
  std::map<Labels, Value*> series{};

  // nullptr: the catalog does not allow it.
  Value* at(const Labels& wanted) {
    if (const auto known = series.find(wanted); known != series.end()) return known->second;
    if (const Labels shown = safe(wanted); shown != wanted) return at(shown);
    if (series.size() >= info->most) return nullptr;
    for (const auto& [label, ignored] : wanted)
      if (std::find(labels.begin(), labels.end(), label) == labels.end()) return nullptr;
    return series.emplace(wanted, &family->Add({wanted.begin(), wanted.end()})).first->second;
  }
};
template <class Value>
using Families = std::map<std::string_view, Family<Value>>;

template <class Value>
Family<Value> made(const Info& info, prometheus::Family<Value>& family) {
  return {.info = &info, .labels = label_names(info), .family = &family};
}
}  // namespace

struct Registry::State {
  std::shared_ptr<prometheus::Registry> registry = std::make_shared<prometheus::Registry>();
  std::mutex mutex;
  Families<prometheus::Gauge> gauges{};
  Families<prometheus::Counter> counters{};

  template <class Value>
  Value* at(Families<Value>& families, std::string_view name, const Labels& labels) {
    const auto family = families.find(name);
    Value* value = family == families.end() ? nullptr : family->second.at(labels);
    if (value == nullptr) counters.at(kRefused).at({})->Increment();
    return value;
  }
};

// Registers every family that the process shows, also those without a value yet.
Registry::Registry(Owner process) : state_(std::make_unique<State>()) {
  for (const Info& info : catalog()) {
    if (!is_shown_by(info, process)) continue;
    const std::string name(info.name);
    const std::string help(info.help);
    if (info.type == Type::kGauge)
      state_->gauges[info.name] =
          made(info, prometheus::BuildGauge().Name(name).Help(help).Register(*state_->registry));
    else
      state_->counters[info.name] =
          made(info, prometheus::BuildCounter().Name(name).Help(help).Register(*state_->registry));
  }
  // A family without labels has its series from the start, so that zero and absence differ.
  const auto begin_unlabelled = [](auto& families) {
    for (auto& [name, family] : families)
      if (family.labels.empty()) family.at({});
  };
  begin_unlabelled(state_->gauges);
  begin_unlabelled(state_->counters);
}

Registry::~Registry() = default;

// A series beyond the bound of the catalog is refused and counted.
void Registry::set(std::string_view gauge, const Labels& labels, double value) {
  const std::lock_guard lock(state_->mutex);
  if (auto* series = state_->at(state_->gauges, gauge, labels)) series->Set(value);
}

// Counters grow only; `more` is at least 0.
void Registry::add(std::string_view counter, const Labels& labels, double more) {
  const std::lock_guard lock(state_->mutex);
  if (auto* series = state_->at(state_->counters, counter, labels)) series->Increment(more);
}

// For counters that another part counts: the difference is added, a smaller total is ignored.
void Registry::raise_to(std::string_view counter, const Labels& labels, double total) {
  const std::lock_guard lock(state_->mutex);
  auto* series = state_->at(state_->counters, counter, labels);
  if (series != nullptr && total > series->Value()) series->Increment(total - series->Value());
}

// Series that `values` lacks are removed; those that it has keep their identity.
void Registry::replace(std::string_view gauge, const std::map<Labels, double>& values) {
  const std::lock_guard lock(state_->mutex);
  const auto family = state_->gauges.find(gauge);
  if (family != state_->gauges.end()) {
    auto& series = family->second.series;
    std::set<Labels> kept;
    for (const auto& [labels, value] : values) kept.insert(safe(labels));
    std::erase_if(series, [&](const auto& one) {
      if (kept.contains(one.first)) return false;
      family->second.family->Remove(one.second);
      return true;
    });
  }
  for (const auto& [labels, value] : values)
    if (auto* series = state_->at(state_->gauges, gauge, labels)) series->Set(value);
}

std::string Registry::text() const {
  return prometheus::TextSerializer().Serialize(state_->registry->Collect());
}

const std::shared_ptr<prometheus::Registry>& Registry::collectable() const {
  return state_->registry;
}

}  // namespace railgauge::metric
