// The output of a verb: results go to `out`, messages to `err`, in one of four formats.
#pragma once

#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

#include <google/protobuf/message.h>

#include "controller/cli/render/table.h"
#include "kernels/core/base/result.h"
#include "kernels/core/text/text.h"

namespace railgauge::cli {

enum class Format { kTable, kJson, kCsv, kNdjson };
enum class Units { kBoth, kBits, kBytes };

std::optional<Format> parse_format(std::string_view text);
std::optional<Units> parse_units(std::string_view text);

struct Screen {
  int columns = 0;  // 0: not known
  int rows = 0;     // likewise
};

struct Output {
  std::ostream& out;
  std::ostream& err;
  Format format = Format::kTable;
  Units units = Units::kBoth;
  bool colour = false;               // of tables on `out`
  int live_columns = 0;              // of the terminal that `err` is; 0: it is none
  std::function<Screen()> screen{};  // of the terminal that `out` is; empty: none to draw on
};

// Prints `document` in a machine format: json prints all of it, csv and ndjson the messages of its
// repeated field `rows`. Returns false and prints nothing when the format is table.
bool print_document(const Output& output, const google::protobuf::Message& document,
                    std::string_view rows);

// Prints `document`, which is no list, in a machine format: json indented, ndjson in one line, csv
// one row below its header.
void print_message(const Output& output, const google::protobuf::Message& document);

// A verb's list: `document` in a machine format (see print_document), or `table` below `headings`
// (see columns_of). Without a row only `none` is printed, to stderr. Always kExitPassed.
int print_list(const Output& output, const google::protobuf::Message& document,
               std::string_view rows, std::string_view headings, const Rows& table,
               std::string_view none);

// A verb's page: `text` as a table, `document` in a machine format. Always kExitPassed.
int print_page(const Output& output, const google::protobuf::Message& document,
               const std::string& text);

// `text` as one line, with control characters replaced.
std::string line_of(const std::string& text, Tone tone = Tone::kPlain, bool colour = false);

// Prints "railgauge: TEXT" to stderr, with control characters replaced, and flushes: it is read
// before a wait begins.
void print_notice(const Output& output, std::string_view text);

// The error as one line on `err` and, with json or ndjson, as a document on `out`. Returns the exit
// code.
int report_error(const Output& output, const Error& error);

// Exit code of an error of a call or of the command line: 130 when the user interrupted, 2 when the
// words were wrong (also a name that is not there), else 4. An error outside a task never waives.
int exit_code_of_call(const Error& error);

}  // namespace railgauge::cli
