// Messages as CSV (RFC 4180, but lines end in \n, and only cells that need quotes have them).
#pragma once

#include <string>

#include <google/protobuf/message.h>

#include "controller/api/archive.pb.h"

namespace railgauge::cli {

// Columns are the JSON keys, those of a nested message joined by a dot ("point.median"); values are
// spelled as in JSON, absent ones are empty. A list of plain values is joined by ';', a list of
// messages and a map are JSON in one cell. Histograms and raw samples have no column.
std::string csv_header(const google::protobuf::Descriptor& descriptor);
std::string csv_row(const google::protobuf::Message& message);

// Returns `text` as one cell, quoted if necessary. A text that a spreadsheet would compute, as
// "=1+1", has an apostrophe in front.
std::string csv_cell(const std::string& text);

// Returns a value of a query for a table or CSV; null is empty.
std::string sql_text(const api::SqlValue& value);

}  // namespace railgauge::cli
