// console
#include <fmt/format.h>

#include "controller/cli/input/session.h"
#include "controller/cli/verbs/commands.h"

namespace railgauge::cli {

// Only the URL is on stdout, so that `xdg-open $(railgauge console)` works.
Result<int> open_console(Session& session, const Arguments&) {
  const auto ticket = RG_TRY(call(session, rpc::kOpenConsole, api::OpenConsoleRequest()));
  const int code = print_page(session.output, ticket, line_of(ticket.url()));
  if (session.output.format == Format::kTable)
    print_notice(session.output,
                 fmt::format("good once, until {}; it lets its holder read everything here",
                             ticket.expires_at()));
  return code;
}

}  // namespace railgauge::cli
