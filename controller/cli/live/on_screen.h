// A verb's page on a terminal: whatever the verb prints, it fits the screen.
#pragma once

#include "controller/cli/input/arguments.h"
#include "controller/cli/input/session.h"

namespace railgauge::cli {

// Runs the verb. Where tables are cut (render/table.h), its output is held until it has ended and
// printed as by fitted_page(), unless the verb's row says that it is whole or it follows events. A
// table of synthetic data ends with take_mark(). Returns the verb's exit code or error, after what
// it printed.
Result<int> run_on_screen(Session& session, const Arguments& arguments);

}  // namespace railgauge::cli
