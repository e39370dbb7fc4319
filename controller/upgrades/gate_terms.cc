#include "controller/upgrades/gate_terms.h"

#include <fmt/format.h>

#include "controller/upgrades/judge_report.h"

namespace railgauge {

// A verdict's report has the terms too, so that a judgement without new terms repeats it.
GateTerms terms_of(const store::UpgradeRow& upgrade) {
  GateTerms terms;
  if (upgrade.report.empty()) return terms;
  const auto stored = report_from(upgrade.report);
  if (!stored) return terms;
  if (stored->has_min_coverage()) terms.min_coverage = stored->min_coverage();
  terms.ends_at = stored->ends_at_unix_seconds();
  return terms;
}

GateTerms terms_with(GateTerms terms, const api::GateRequest& request, double now) {
  if (request.has_min_coverage()) terms.min_coverage = request.min_coverage();
  if (request.has_time_limit_seconds()) terms.ends_at = now + request.time_limit_seconds();
  return terms;
}

Status check_terms(const api::GateRequest& request) {
  if (request.has_min_coverage() && !(request.min_coverage() > 0 && request.min_coverage() <= 1))
    return fail(Code::kInvalidArgument, fmt::format("min_coverage: {} is no share between 0 and 1",
                                                    request.min_coverage()));
  if (request.has_time_limit_seconds() && !(request.time_limit_seconds() >= 0))
    return fail(Code::kInvalidArgument,
                fmt::format("time_limit_seconds: {} is no time", request.time_limit_seconds()));
  return {};
}

std::string stored_text(const GateTerms& terms) {
  if (terms.min_coverage == 1 && terms.ends_at == 0) return "";
  api::Upgrade stored;
  add_terms(terms, stored);
  return json_of(stored);
}

void add_terms(const GateTerms& terms, api::Upgrade& upgrade) {
  if (terms.min_coverage < 1) upgrade.set_min_coverage(terms.min_coverage);
  if (terms.ends_at > 0) upgrade.set_ends_at_unix_seconds(terms.ends_at);
}

}  // namespace railgauge
