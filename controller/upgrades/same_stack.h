// A stack that comes back has a past of its own: what the nodes gave with it before the stack that
// they left. Called on worker threads.
#pragma once

#include <cstdint>
#include <optional>

#include "controller/store/store.h"

namespace railgauge {

// A before side is taken from runs of these days, at most this many.
inline constexpr double kHistoryDays = 14;
inline constexpr std::uint32_t kHistoryRuns = 60;

struct EarlierSelf {
  store::UpgradeRow
      row{};         // the upgrade, with the runs of that time as its before side; none known
  double until = 0;  // when the first of the nodes left that stack; unix seconds
};

// The earlier figures of changed nodes that all have an earlier stack again, on the same hardware;
// else absent. Controls are nodes that have not changed since then.
Result<std::optional<EarlierSelf>> earlier_self(const store::Store& store,
                                                const store::UpgradeRow& upgrade);

// Whether the changed nodes had another stack since the before side was measured, and have that of
// the before side again. New figures are then compared with the stack's own figures.
Result<bool> came_back(const store::Store& store, const store::UpgradeRow& upgrade);

}  // namespace railgauge
