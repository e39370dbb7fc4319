// console
#include <cstdlib>

#include <fmt/format.h>

#include "controller/cli/input/session.h"
#include "controller/cli/verbs/commands.h"

namespace railgauge::cli {

// Only the URL is on stdout, so that `xdg-open $(railgauge console)` works.
Result<int> open_console(Session& session, const Arguments&) {
  api::OpenConsoleRequest request;
  // The trail names who ran `sudo railgauge console`.
  if (const char* user = std::getenv("SUDO_USER")) request.set_sudo_user(user);
  const auto ticket = RG_TRY(call(session, rpc::kOpenConsole, request));
  if (session.output.format != Format::kTable) return print_page(session.output, ticket, "");
  print_value(session.output, ticket.url());
  print_notice(session.output,
               fmt::format("good once, until {}; it lets its holder read everything here",
                           ticket.expires_at()));
  return 0;
}

}  // namespace railgauge::cli
