// Judges launches of two programs taken in turn: one row a comparison, with what is expected of its
// ratio.
#pragma once

#include <string>
#include <vector>

#include "kernels/core/base/result.h"
#include "kernels/core/stats/paired_ratio.h"

namespace railgauge::compare {

enum class Expectation {
  kEqual,        // the ratio within 5 % of 1, or its interval holds 1 and is no wider than 20 %
  kHoldsOne,     // control: a program against itself
  kExcludesOne,  // control: a known cost was added, so the interval is above 1
};

struct Row {
  std::string name;
  Expectation expectation = Expectation::kEqual;
  std::vector<double> ours;
  std::vector<double> theirs;
};

enum class Verdict { kPassed, kFailed, kNoisy, kInvalid };

struct Judged {
  Row row;
  PairedRatio ratio;
  Verdict verdict = Verdict::kInvalid;
};

// One row's verdict: a control that misses its expectation is kInvalid. A comparison that does not
// pass is kFailed when its whole interval is more than 5 % from 1, else kNoisy: neither equal nor
// unequal was shown. Errors: those of paired_ratio.
Result<Judged> judge(const Row& row);
// The table's: invalid when a control is, else failed, noisy, passed, in this order. No rows:
// invalid.
Verdict overall(const std::vector<Judged>& rows);

// "comparison<TAB>expectation<TAB>ours|theirs<TAB>figure" lines in the order of the launches;
// expectation is equal, holds_one or excludes_one. Errors name the line.
Result<std::vector<Row>> parse(const std::string& text);
std::string print(const std::vector<Judged>& rows);

}  // namespace railgauge::compare
