// The output of a verb: results go to `out`, messages to `err`, in one of four formats.
#pragma once

#include <functional>
#include <memory>
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

// The mark of the data that one command prints.
struct DataMark {
  bool is_synthetic = false;  // an answer of the controller said so
  bool is_value = false;      // `out` has one value for scripts, and nothing else
  bool is_shown = false;      // the line of the table format is printed
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
  std::shared_ptr<DataMark> mark = std::make_shared<DataMark>();  // never null
};

// Returns the line that says that the data is synthetic, once; "" where it is not, and in machine
// formats, whose documents say it themselves. Beside a value for scripts it goes to stderr.
std::string take_mark(const Output& output);

// Prints `document` in a machine format: json prints all of it, csv and ndjson the messages of its
// repeated field `rows`. Returns false and prints nothing when the format is table.
bool print_document(const Output& output, const google::protobuf::Message& document,
                    std::string_view rows);

// Texts of machine formats with the mark, where the data is synthetic: a JSON object or the end of
// one, the headings of CSV, a row below them.
std::string marked_object(const Output& output, std::string object);
std::string marked_columns(const Output& output, std::string_view columns);
std::string marked_row(const Output& output, std::string row);

// Prints rows as they come, as one document in a machine format, so that nothing holds them all.
// Call end() also after an error: the printed text is then one document.
class RowPrinter {
 public:
  // `columns` is the line of headings of csv, `head` what precedes the list of json:
  // "\"points\"".
  RowPrinter(const Output& output, std::string_view columns, std::string_view head)
      : output_(output) {
    if (output.format == Format::kCsv) output.out << marked_columns(output, columns) << '\n';
    if (output.format == Format::kJson)
      output.out << "{\n  \"schema_version\": 1,\n  " << head << ": [";
  }
  // Prints one row; `csv()` and `json()` make its text in one line.
  template <class Csv, class Json>
  void print(Csv csv, Json json) {
    if (output_.format == Format::kCsv) output_.out << marked_row(output_, csv()) << '\n';
    if (output_.format == Format::kNdjson) output_.out << marked_object(output_, json()) << '\n';
    if (output_.format == Format::kJson) output_.out << (first_ ? "\n    " : ",\n    ") << json();
    first_ = false;
  }
  void end() {
    if (output_.format == Format::kJson)
      output_.out << marked_object(output_, first_ ? "]\n}" : "\n  ]\n}") << '\n';
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

// A verb's value, alone on `out`, so that a script can take it.
void print_value(const Output& output, const std::string& value);

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
