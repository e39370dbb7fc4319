// Reads launches on standard input (table.h says how), prints the table. Exit 0 passed, 1 failed,
// 3 too noisy, 4 invalid, 2 wrong input.
#include <iostream>
#include <iterator>
#include <string>

#include "deploy/compare/table.h"
#include "kernels/core/base/outcome.h"

namespace {
using railgauge::compare::Judged;
using railgauge::compare::Verdict;

railgauge::Result<std::vector<Judged>> judge_all(const std::string& text) {
  std::vector<Judged> rows;
  for (const auto& row : RG_TRY(railgauge::compare::parse(text)))
    rows.push_back(RG_TRY(railgauge::compare::judge(row)));
  return rows;
}
}  // namespace

int main() {
  const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  const auto rows = judge_all(text);
  if (!rows) {
    std::cerr << "compare: " << rows.error().message << "\n";
    return railgauge::kExitUsage;
  }
  std::cout << railgauge::compare::print(*rows);
  switch (railgauge::compare::overall(*rows)) {
    case Verdict::kPassed:
      return railgauge::kExitPassed;
    case Verdict::kFailed:
      return railgauge::kExitFailed;
    case Verdict::kNoisy:
      return railgauge::kExitInconclusive;
    case Verdict::kInvalid:
      break;
  }
  return railgauge::kExitInvalid;
}
