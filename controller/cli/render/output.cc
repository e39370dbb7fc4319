#include "controller/cli/render/output.h"

#include <array>
#include <utility>

#include <google/protobuf/descriptor.h>

#include "controller/api/code_word.h"
#include "controller/api/states.h"
#include "controller/api/synthetic_mark.h"
#include "controller/cli/render/csv.h"
#include "controller/cli/render/report.pb.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/text/json.h"

namespace railgauge::cli {

std::optional<Format> parse_format(std::string_view text) {
  constexpr std::array<std::string_view, 6> kTexts{"table", "json", "csv", "ndjson", "html", "md"};
  if (text == "text") return Format::kTable;
  return api::state_of<Format>(kTexts, text);
}

std::optional<Units> parse_units(std::string_view text) {
  constexpr std::array<std::string_view, 3> kTexts{"both", "bits", "bytes"};
  return api::state_of<Units>(kTexts, text);
}

std::string marked_object(const Output& output, std::string object) {
  return output.mark->is_synthetic ? api::marked_synthetic(std::move(object)) : object;
}

std::string marked_columns(const Output& output, std::string_view columns) {
  std::string line(columns);
  if (output.mark->is_synthetic) line.append(",").append(api::kDataKindField);
  return line;
}

std::string marked_row(const Output& output, std::string row) {
  if (output.mark->is_synthetic) row.append(",").append(api::kSyntheticData);
  return row;
}

std::string take_mark(const Output& output) {
  constexpr std::string_view kText =
      "SYNTHETIC: this controller's data is of a modelled site, not of hardware";
  DataMark& mark = *output.mark;
  if (!mark.is_synthetic || std::exchange(mark.is_shown, true)) return "";
  if (mark.is_value) print_fault(output, kText);
  return mark.is_value || output.format != Format::kTable
             ? ""
             : toned(wrapped_line(std::string(kText)), Tone::kBad, output.colour);
}

// A missing field `rows` is an error of the programmer.
bool print_document(const Output& output, const google::protobuf::Message& document,
                    std::string_view rows) {
  if (output.format == Format::kTable) return false;
  if (output.format == Format::kJson) {
    output.out << marked_object(output, to_json(document, JsonLayout::kIndented)) << '\n';
    return true;
  }
  // csv and ndjson print the rows of the document's list.
  const auto* field = document.GetDescriptor()->FindFieldByName(std::string(rows));
  RG_CHECK(field != nullptr && field->is_repeated());
  const auto* reflection = document.GetReflection();
  if (output.format == Format::kCsv)
    output.out << marked_columns(output, csv_header(*field->message_type())) << '\n';
  for (int i = 0; i < reflection->FieldSize(document, field); ++i) {
    const auto& row = reflection->GetRepeatedMessage(document, field, i);
    output.out << (output.format == Format::kCsv
                       ? marked_row(output, csv_row(row))
                       : marked_object(output, to_json(row, JsonLayout::kCompact)))
               << '\n';
  }
  return true;
}

// The document of a verb about one thing; lists use print_document().
void print_message(const Output& output, const google::protobuf::Message& document) {
  if (output.format == Format::kCsv) {
    output.out << marked_columns(output, csv_header(*document.GetDescriptor())) << '\n'
               << marked_row(output, csv_row(document)) << '\n';
    return;
  }
  const bool one_line = output.format == Format::kNdjson;
  output.out << marked_object(output, to_json(document, one_line ? JsonLayout::kCompact
                                                                 : JsonLayout::kIndented))
             << '\n';
}

namespace {

// Equal rows are one row; a column has their number where there are any.
std::string list_text(std::string_view headings, const Rows& table, bool colour) {
  const auto counted = counted_rows(table);
  // No column without need.
  if (counted.size() == table.size()) return render_short_table(headings, table, colour);
  Rows rows;
  for (const auto& [row, count] : counted) {
    rows.push_back(row);
    rows.back().emplace_back(count > 1 ? std::to_string(count) : "");
  }
  return render_short_table(std::string(headings) + "|COUNT>", rows, colour);
}

}  // namespace

int print_list(const Output& output, const google::protobuf::Message& document,
               std::string_view rows, std::string_view headings, const Rows& table,
               std::string_view none) {
  if (print_document(output, document, rows)) return kExitPassed;
  if (table.empty())
    print_notice(output, none);
  else
    output.out << list_text(headings, table, output.colour);
  return kExitPassed;
}

int print_page(const Output& output, const google::protobuf::Message& document,
               const std::string& text) {
  if (output.format == Format::kTable)
    output.out << text;
  else
    print_message(output, document);
  return kExitPassed;
}

void print_value(const Output& output, const std::string& value) {
  output.out << line_of(value);
  output.mark->is_value = true;
}

std::string line_of(const std::string& text, Tone tone, bool colour) {
  return toned(printable(text), tone, colour) + "\n";
}

void print_notice(const Output& output, std::string_view text) {
  if (!output.is_quiet) print_fault(output, text);
}

// Flushed at once: a wait of minutes may follow.
void print_fault(const Output& output, std::string_view text) {
  output.err << "railgauge: " << printable(text) << '\n' << std::flush;
}

// The document on stdout lets a script that asked for JSON read the cause.
int report_error(const Output& output, const Error& error) {
  if (output.format == Format::kJson || output.format == Format::kNdjson) {
    ErrorReport report;
    report.set_schema_version(1);
    report.mutable_error()->set_code(std::string(api::code_word(error.code)));
    report.mutable_error()->set_message(error.message);
    print_message(output, report);
  }
  print_fault(output, error.message);
  return exit_code_of_call(error);
}

// Waived and failed are outcomes of tasks, so no error maps to them.
int exit_code_of_call(const Error& error) {
  switch (error.code) {
    case Code::kCancelled:
      return kExitInterrupted;
    case Code::kInvalidArgument:
    case Code::kNotFound:
    case Code::kOutOfRange:
      return kExitUsage;
    default:
      return kExitInvalid;
  }
}

}  // namespace railgauge::cli
