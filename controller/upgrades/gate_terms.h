// The terms of an upgrade's gate. They are stored with its after side (decision 141), so that
// whoever judges it judges by them. Pure.
#pragma once

#include <string>

#include "controller/api/judge.pb.h"
#include "controller/store/rows/judge_rows.h"
#include "kernels/core/base/result.h"

namespace railgauge {

struct GateTerms {
  // The share of the changed pairs that a pass needs, above 0, at most 1.
  double min_coverage = 1;
  // Unix seconds at which a run that has not ended is cancelled; 0: never.
  double ends_at = 0;
};

// The stored terms of the upgrade, which was read with its report. The usual ones where it has
// none.
GateTerms terms_of(const store::UpgradeRow& upgrade);
// `terms` with those that the request states. `now`: unix seconds.
GateTerms terms_with(GateTerms terms, const api::GateRequest& request, double now);
// kInvalidArgument: a share that is none, or a negative time.
Status check_terms(const api::GateRequest& request);
// The text that the store keeps while the after side is measured; "" for the usual terms.
std::string stored_text(const GateTerms& terms);
// Sets the terms that are not the usual ones.
void add_terms(const GateTerms& terms, api::Upgrade& upgrade);

}  // namespace railgauge
