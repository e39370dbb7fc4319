// Stores the regressions of an upgrade as findings. Called on worker threads.
#pragma once

#include <optional>
#include <string>

#include "controller/api/judge.pb.h"
#include "controller/store/store.h"
#include "controller/upgrades/upgrade_data.h"
#include "controller/verdict/verdict.h"

namespace railgauge {

// One event, one finding: all that an upgrade made worse is of one kind's finding, which `report`
// names then. One that is judged again says what is there now; one that was settled stays as it was
// settled unless it got worse (or was said to be over). A slowdown that a further run still shows
// is confirmed, and what is not there any more is over. `now`: unix seconds.
Status keep_finding(store::Store& store, const UpgradeData& sides,
                    const analysis::UpgradeVerdict& verdict, api::Upgrade& report, double now);

// A report as it is kept, and back; absent where the text is none.
std::string json_of(const api::Upgrade& report);
std::optional<api::Upgrade> report_from(const std::string& text);

// A pass of `sides` ends the findings of earlier gates of the same nodes and suite: of the same
// upgrade, or, where the nodes' stack is compared with its own past (`is_itself_again`), of one
// that is undone. Without `prepare` each gate is an upgrade of its own.
Status close_earlier(store::Store& store, const UpgradeData& sides, bool is_itself_again,
                     double now);

}  // namespace railgauge
