// Alignment by characters.
#include "kernels/core/report/text_table.h"

#include <algorithm>

#include "kernels/core/base/result.h"
#include "kernels/core/text/text.h"

namespace railgauge {
namespace {

// Blanks between columns.
constexpr std::size_t kGap = 2;

// Characters, not bytes: continuation bytes of UTF-8 take no room.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

}  // namespace

void TextTable::add(std::vector<std::string> cells) {
  RG_CHECK(cells.size() == columns_.size());
  for (std::string& cell : cells) cell = printable(cell);
  rows_.push_back(std::move(cells));
}

// Each column is as wide as its widest cell.
std::string TextTable::text() const {
  std::vector<std::size_t> widths;
  std::vector<std::string> titles;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    titles.push_back(columns_[i].title);
    widths.push_back(width(columns_[i].title));
    for (const auto& row : rows_) widths[i] = std::max(widths[i], width(row[i]));
  }
  std::string out;
  const auto line = [&](const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string fill(widths[i] - width(cells[i]), ' ');
      if (i > 0) out.append(kGap, ' ');
      out += columns_[i].align == Align::kRight ? fill + cells[i] : cells[i] + fill;
    }
    out.erase(out.find_last_not_of(' ') + 1);
    out += '\n';
  };
  line(titles);
  for (const auto& row : rows_) line(row);
  return out;
}

}  // namespace railgauge
