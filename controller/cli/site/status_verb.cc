// status
#include <fmt/format.h>

#include "controller/cli/input/controllers.h"
#include "controller/cli/input/session.h"
#include "controller/cli/render/report.pb.h"
#include "controller/cli/render/table.h"
#include "controller/cli/verbs/commands.h"
#include "kernels/core/base/outcome.h"

namespace railgauge::cli {

// A standby that answers is no fault of its own; a site on which nobody acts is one, whatever the
// cause, and so are two that both say they act.
// 0: one controller acts. 4: none does, or more than one answers that it does.
Result<int> show_status(Session& session, const Arguments&) {
  StatusReport report;
  report.set_schema_version(1);
  Rows rows;
  int acting = 0;
  for (const SeenController& seen : session.see_controllers()) {
    ControllerStatus& row = *report.add_controllers();
    const api::ControllerRole& role = seen.role;
    row.set_controller(seen.address);
    row.set_role(role.role());
    row.set_site(role.site());
    if (seen.fault.empty()) row.set_generation(role.generation());
    if (role.has_lag_seconds()) row.set_lag_seconds(role.lag_seconds());
    row.set_active(role.active());
    row.set_detail(seen.fault.empty() ? role.detail() : seen.fault);
    acting += role.role() == "active" || role.role() == "single" ? 1 : 0;
    rows.push_back({seen.address, state_cell(role.role().empty() ? "silent" : role.role()),
                    row.has_generation() ? fmt::format("{:.0f}", role.generation()) : "",
                    role.has_lag_seconds() ? fmt::format("{:.1f} s", role.lag_seconds()) : "",
                    role.site(), row.detail()});
  }
  print_list(session.output, report, "controllers", "CONTROLLER|ROLE|GENERATION>|LAG>|SITE|DETAIL",
             rows, "no controller is named");
  return acting == 1 ? kExitPassed : kExitInvalid;
}

}  // namespace railgauge::cli
