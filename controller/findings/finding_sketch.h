// The figures of a finding that a list shows beside its row: the metric, the noise before it, and
// the range of its begin. Called on worker threads; those without a store are pure.
#pragma once

#include <optional>
#include <string>

#include "controller/findings/finding_causes.h"
#include "controller/stats/noise_shape.h"
#include "controller/store/store.h"

namespace railgauge {

// The figures of a finding that a list shows beside it.
struct FindingSketch {
  // "verbs.write_bw bandwidth_bytes_per_second 64 KiB", of its first series; "" without one.
  std::string metric{};
  // The shape of the figures before it began; absent: too few of them.
  std::optional<analysis::NoiseShape> noise{};
  // As in FindingCauses.
  std::optional<double> begin_from{};
  std::optional<double> begin_until{};
};

// The sketch by the figures of its first series. Pure.
FindingSketch sketch_of(const store::SeriesRow& series, const FindingFacts& facts,
                        const FindingCauses& causes);
// The sketch of a part, by the levels of its nights. Pure.
FindingSketch sketch_of_part(const store::FindingRow& finding);
// The sketch of any finding. kNotFound: the finding or its series is gone.
Result<FindingSketch> read_sketch(const store::Store& store, const std::string& finding_id);

// The probability, in percent, that the finding is no chance: 1 - p of the judge's test; of a part
// by the 95 % interval of its loss, as if it were normal. Absent: its kind has no such test. Pure.
std::optional<double> confidence_percent(const store::FindingRow& finding);

}  // namespace railgauge
