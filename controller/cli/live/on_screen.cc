#include "controller/cli/live/on_screen.h"

#include <sstream>

#include "controller/cli/render/table.h"

namespace railgauge::cli {

// Messages on `err` are not held: they say what the verb waits for.
Result<int> run_on_screen(Session& session, const Arguments& arguments) {
  const Output& outer = session.output;
  if (outer.format != Format::kTable || !tables_are_cut() || arguments.verb->is_whole ||
      arguments.has("follow")) {
    Result<int> code = arguments.verb->run(session, arguments);
    if (code) outer.out << take_mark(outer);
    return code;
  }
  // Held, since only the whole text says how much of it is left out.
  std::ostringstream page;
  const Output output{.out = page,
                      .err = outer.err,
                      .format = outer.format,
                      .units = outer.units,
                      .colour = outer.colour,
                      .live_columns = outer.live_columns,
                      .screen = outer.screen,
                      .is_full = outer.is_full,
                      .is_quiet = outer.is_quiet,
                      .mark = outer.mark};
  Session inner{.stubs = session.stubs,
                .output = output,
                .interrupts = session.interrupts,
                .address = session.address,
                .connected = session.connected,
                .tls_cert = session.tls_cert,
                .again = session.again,
                .answer_seconds = session.answer_seconds,
                .linger_seconds = session.linger_seconds,
                .cancel_seconds = session.cancel_seconds,
                .reconnect_seconds = session.reconnect_seconds,
                .watch_slice_seconds = session.watch_slice_seconds};
  Result<int> code = arguments.verb->run(inner, arguments);
  outer.out << page_with_end(fitted_page(page.str()), code ? take_mark(outer) : "");
  return code;
}

}  // namespace railgauge::cli
