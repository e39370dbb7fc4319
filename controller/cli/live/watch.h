// `--watch`: a verb that lists something, asked again and again. On a terminal its view is drawn
// over itself, elsewhere it is printed again when it has changed.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/cli/input/arguments.h"
#include "controller/cli/input/session.h"
#include "controller/cli/render/output.h"

namespace railgauge::cli {

// `line` on a terminal of so many columns (0: any number): what does not fit is cut off and marked
// by '>', since a wrapped line could not be drawn over. Counts characters of UTF-8; colours take no
// room and end with the line. Pure.
std::string fit_line(std::string_view line, int columns);

// The lines of a view as they fit on the screen, which keeps its last one free: of more the first,
// and how many are left out. Pure.
std::vector<std::string> fit_view(const std::string& view, const Screen& screen);

// The bytes that draw `lines` over the `drawn` lines above the cursor. Pure.
std::string drawn_over(const std::vector<std::string>& lines, std::size_t drawn);

struct WatchOptions {
  std::function<std::string()> clock;  // "12:00:01Z", asked once a look
  double seconds = 2;                  // between two looks
};

// --interval, and the time of day. Errors: kInvalidArgument.
Result<WatchOptions> watch_options(const Arguments& arguments);

// Runs the verb until Ctrl-C or SIGTERM (130, 143), or until nobody reads what it prints (0). A
// controller that does not answer ends it at the first look only; later its last view stays, and
// why it is old. Errors: kInvalidArgument for formats that have one document; the verb's own.
Result<int> watch_verb(Session& session, const Arguments& arguments, const WatchOptions& options);

}  // namespace railgauge::cli
