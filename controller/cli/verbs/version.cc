// version
#include <fmt/format.h>

#include "controller/cli/input/session.h"
#include "controller/cli/render/report.pb.h"
#include "controller/cli/verbs/commands.h"
#include "kernels/core/base/outcome.h"

namespace railgauge::cli {

// This program's version is printed also when the controller does not answer, with the call's exit
// code.
Result<int> show_version(Session& session, const Arguments&) {
  VersionReport report;
  report.set_schema_version(1);
  report.set_version(RAILGAUGE_VERSION);
  auto controller = call(session, rpc::kGetVersion, api::VersionRequest());
  std::string page = "railgauge " RAILGAUGE_VERSION "\n";
  if (controller) {
    *report.mutable_controller() = *controller;
    page += line_of(fmt::format("controller {} (contract {}.{}, database {})",
                                controller->version(), controller->contract().major(),
                                controller->contract().minor(), controller->database_version()));
  }
  print_page(session.output, report, page);
  if (controller) return kExitPassed;
  // Our own version is printed; the null in the document says the rest.
  print_fault(session.output, controller.error().message);
  return exit_code_of_call(controller.error());
}

}  // namespace railgauge::cli
