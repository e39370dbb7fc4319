// `--watch`: repeats a verb that prints a list. On a terminal each view is drawn over the previous
// one; elsewhere a view is printed when it has changed.
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

// Fits `line` to a terminal of `columns` (0: any number). A longer line is cut and marked by '>',
// since a wrapped line could not be drawn over. Counts characters of UTF-8; colours take no columns
// and end with the line. Pure.
std::string fit_line(std::string_view line, int columns);

// Fits the lines of a view to the screen, whose last line stays free. Shortens a longer view to its
// first lines and the number of omitted ones. Pure.
std::vector<std::string> fit_view(const std::string& view, const Screen& screen);

// Returns the bytes that draw `lines` over the `drawn` lines above the cursor. Pure.
std::string drawn_over(const std::vector<std::string>& lines, std::size_t drawn);

struct WatchOptions {
  std::function<std::string()> clock;  // "12:00:01Z", asked once a look
  double seconds = 2;                  // between two looks
};

// --interval, and the time of day. Errors: kInvalidArgument.
Result<WatchOptions> watch_options(const Arguments& arguments);

// Runs the verb until Ctrl-C or SIGTERM (130, 143), or until its output has no reader (0). A
// controller without an answer ends it at the first view only; later the last view stays, with the
// reason for its age. Errors: kInvalidArgument for formats of one document; the verb's own.
Result<int> watch_verb(Session& session, const Arguments& arguments, const WatchOptions& options);

}  // namespace railgauge::cli
