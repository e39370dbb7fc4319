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

// The last two are forms of a report alone.
enum class Format { kTable, kJson, kCsv, kNdjson, kHtml, kMarkdown };
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
  bool is_full = false;              // --full: every row in place of summaries and cut lists
  bool is_quiet = false;             // --quiet: results and errors alone
};

// Prints `document` in a machine format: json prints all of it, csv and ndjson the messages of its
// repeated field `rows`. Returns false and prints nothing when the format is table.
bool print_document(const Output& output, const google::protobuf::Message& document,
                    std::string_view rows);

// Prints rows as they come, as one document in a machine format, so that nothing holds them all.
// Call end() also after an error: the printed text is then one document.
class RowPrinter {
 public:
  // `columns` is the line of headings of csv, `head` what precedes the list of json:
  // "\"points\"".
  RowPrinter(const Output& output, std::string_view columns, std::string_view head)
      : output_(output) {
    if (output.format == Format::kCsv) output.out << columns << '\n';
    if (output.format == Format::kJson)
      output.out << "{\n  \"schema_version\": 1,\n  " << head << ": [";
  }
  // Prints one row; `csv()` and `json()` make its text in one line.
  template <class Csv, class Json>
  void print(Csv csv, Json json) {
    if (output_.format == Format::kCsv) output_.out << csv() << '\n';
    if (output_.format == Format::kNdjson) output_.out << json() << '\n';
    if (output_.format == Format::kJson) output_.out << (first_ ? "\n    " : ",\n    ") << json();
    first_ = false;
  }
  void end() {
    if (output_.format == Format::kJson) output_.out << (first_ ? "]\n}\n" : "\n  ]\n}\n");
    output_.out.flush();
  }

 private:
  const Output& output_;
  bool first_ = true;
};

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
// before a wait begins. Prints nothing where the output is quiet.
void print_notice(const Output& output, std::string_view text);
// The same for what fails or limits the result: also where the output is quiet.
void print_fault(const Output& output, std::string_view text);

// Prints the error as one line on `err` and, with json or ndjson, as a document on `out`. Returns
// the exit code.
int report_error(const Output& output, const Error& error);

// Returns the exit code of an error of a call or of the command line: 130 when the user
// interrupted, 2 for wrong input (also a name that does not exist), else 4. An error outside a task
// never waives.
int exit_code_of_call(const Error& error);

}  // namespace railgauge::cli
