// Reads from the store the facts of both sides of an upgrade, and the earlier time of a stack that
// came back. Called on worker threads; every failure is the store's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/store/store.h"
#include "controller/upgrades/upgrade_data.h"

namespace railgauge {

// A before side without `prepare` is taken from runs of these days, at most this many runs.
inline constexpr double kHistoryDays = 14;
inline constexpr std::uint32_t kHistoryRuns = 60;

// Older preflights and before sides say little about the present; days.
inline constexpr double kCheckDays = 14;

// All facts that a verdict about the nodes and runs of the row rests on; the row need not be
// stored.
Result<UpgradeData> read_upgrade_data(const store::Store& store, store::UpgradeRow upgrade);
// The same for a stored upgrade. kNotFound: no such upgrade.
Result<UpgradeData> read_upgrade_data(const store::Store& store, const std::string& upgrade_id);

// A stretch of time with one stack, or of measuring (0); unix seconds.
struct Stay {
  std::int64_t stack = 0;
  double from = 0;
  double until = 0;
};

// Reports whether the run measures no more.
bool has_ended(const store::RunRow& run);

// When the newest run of the before side began; unix seconds, 0: it has no run.
Result<double> measured_before(const store::Store& store, const store::UpgradeRow& upgrade);

// When the first changed node left its stack; unix seconds, 0: none has.
Result<double> since_when(const store::Store& store, const UpgradeData& sides);

// Since when a node has had its present stack and hardware, by its epochs, newest first; unix
// seconds, the largest number where there is no epoch.
double unchanged_since(const std::vector<store::EpochRow>& epochs);

// An earlier time with the stack that the nodes have again.
struct EarlierSelf {
  // The upgrade with the runs of that time as its before side; none may be known.
  store::UpgradeRow row{};
  // When the first of the nodes left that stack; unix seconds.
  double until = 0;
};

// The earlier time of changed nodes that all have an earlier stack again, on the same hardware;
// else absent. Controls are nodes that have not changed since then.
Result<std::optional<EarlierSelf>> earlier_self(const store::Store& store,
                                                const store::UpgradeRow& upgrade);

// Reports whether the changed nodes had another stack since the before side was measured, and have
// the stack of the before side again. New figures are then compared with the stack's own figures.
Result<bool> came_back(const store::Store& store, const store::UpgradeRow& upgrade);

}  // namespace railgauge
