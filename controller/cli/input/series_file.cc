#include "controller/cli/input/series_file.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>

#include <fmt/format.h>

#include "kernels/core/text/rfc3339.h"
#include "kernels/core/text/text.h"

namespace railgauge::cli {
namespace {

constexpr double kGap = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kMaxLineBytes = 1U << 16U;
constexpr std::string_view kTooLong = "a line longer than 64 KiB is no row of a series";
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr double kLongGapSeconds = 30 * 86400.0;

// ASCII letters only: the words compared here have no others.
std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return out;
}

// Without blanks, tabs and carriage returns at both ends.
std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// The cells of a line; nothing when a quote is not closed.
std::optional<std::vector<std::string>> split(std::string_view line, char separator) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"') {
      cells.back() += '"';
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == separator && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  if (quoted) return std::nullopt;
  for (std::string& cell : cells) cell = std::string(trimmed(cell));
  return cells;
}

// The words that tools write for a missing value. An infinite value is a gap too: no statistic
// could use it.
bool is_gap(std::string_view cell) {
  constexpr std::string_view kWords[] = {"",     "nan",  "+nan",     "-nan",      "na",
                                         "n/a",  "null", "none",     "-",         "inf",
                                         "+inf", "-inf", "infinity", "+infinity", "-infinity"};
  const std::string word = lower(cell);
  return std::ranges::find(kWords, word) != std::end(kWords);
}

// A finite number, a gap as NaN, or nothing for what is neither.
std::optional<double> value_of(std::string_view cell) {
  if (is_gap(cell)) return kGap;
  if (cell.starts_with('+')) cell.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc{} || end != cell.data() + cell.size()) return std::nullopt;
  return value;
}

// Reads line by line: finds the separator and the columns in the first lines, then takes rows.
class Reader {
 public:
  Reader(std::istream& in, const std::string& name) : in_(in), name_(name) {}
  // All lines, then the order of time.
  Result<SeriesFile> read() {
    // A device or a binary file may be one line of any length: no more of it than a row has is
    // read.
    std::vector<char> buffer(kMaxLineBytes + 3);  // with a return, one more and the end
    const auto room = static_cast<std::streamsize>(buffer.size());
    while (in_.getline(buffer.data(), room)) {
      ++line_;
      RG_TRY_OK(
          take({buffer.data(), static_cast<std::size_t>(in_.gcount()) - (in_.eof() ? 0 : 1)}));
    }
    if (!in_.bad() && in_.gcount() == room - 1) {
      ++line_;
      return tl::unexpected(wrong(kTooLong).error());
    }
    if (in_.bad()) return fail(Code::kUnavailable, fmt::format("{}: read: input error", name_));
    if (file_.values.size() == file_.gaps)
      return fail(Code::kInvalidArgument, fmt::format("{}: there is no value in it", name_));
    finish();
    return std::move(file_);
  }

 private:
  // One line: skips comments, and counts empty lines of a single column as gaps once a row follows.
  Status take(const std::string& line) {
    std::string_view text = line;
    if (line_ == 1 && text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    if (text.ends_with('\r')) text.remove_suffix(1);
    if (trimmed(text).starts_with('#')) return {};
    if (trimmed(text).empty()) {
      blank_ += columns_ == 1 ? 1 : 0;
      return {};
    }
    if (text.size() > kMaxLineBytes) return wrong(kTooLong);
    if (columns_ == 0) {
      // The comma last: behind another separator it is a decimal one.
      for (const char candidate : {'\t', ';', ','})
        if (text.find(candidate) != std::string_view::npos) {
          separator_ = candidate;
          break;
        }
    }
    const auto cells = split(text, separator_);
    if (!cells) return wrong("a quote is not closed");
    if (columns_ == 0) return begin(*cells);
    for (; blank_ > 0; --blank_) RG_TRY_OK(take_row({""}));
    return take_row(*cells);
  }
  // The first row with content: a header, or data where its likely value column is a number.
  Status begin(const std::vector<std::string>& cells) {
    columns_ = cells.size();
    const bool wide = columns_ > 2;
    const std::size_t likely = columns_ == 2 ? 1 : 0;
    const bool header =
        wide ? std::ranges::none_of(cells, [](const auto& c) { return value_of(c).has_value(); })
             : !value_of(cells[likely]).has_value();
    if (header) return choose_columns(cells);
    if (wide)
      return wrong(fmt::format("{} columns and no header; name one of them \"value\"", columns_));
    value_ = likely;
    if (columns_ == 2) time_ = 0;
    return take_row(cells);
  }
  // Finds the value's and the time's column by the header's names. Two columns need no known name:
  // the other one is the time.
  Status choose_columns(const std::vector<std::string>& header) {
    constexpr std::string_view kTimes[] = {"time", "timestamp", "date", "datetime", "t"};
    std::optional<std::size_t> value;
    for (std::size_t i = 0; i < header.size(); ++i) {
      const std::string word = lower(header[i]);
      if (word == "value" && !value) value = i;
      if (!time_ && std::ranges::find(kTimes, word) != std::end(kTimes)) time_ = i;
    }
    // A single column with any name is the value.
    if (!value && header.size() == 1 && !time_) value = 0;
    if (!value && header.size() == 2) value = time_ == std::size_t{1} ? 0 : 1;
    if (!value) {
      constexpr std::size_t kMostNamed = 8;
      std::string known;
      for (const std::string& word : std::span(header).first(std::min(header.size(), kMostNamed)))
        known += (known.empty() ? "" : ", ") + in_quotes(word);
      if (header.size() > kMostNamed)
        known += fmt::format(" and {} more", header.size() - kMostNamed);
      return wrong(fmt::format("no column \"value\" among {}", known));
    }
    value_ = *value;
    if (!time_ && header.size() == 2) time_ = 1 - value_;
    return {};
  }
  // One row as value and time. Errors: another number of columns, a value that is no number, too
  // many rows.
  Status take_row(const std::vector<std::string>& cells) {
    if (cells.size() != columns_)
      return wrong(fmt::format("{} columns, the lines before have {}", cells.size(), columns_));
    const auto value = value_of(cells[value_]);
    if (!value)
      return wrong(fmt::format("value {} is no number{}", in_quotes(cells[value_]),
                               cells[value_].find(',') == std::string::npos
                                   ? ""
                                   : "; its decimals need a point, and no thousands be parted"));
    if (file_.values.size() >= kMaxSeriesRows)
      return wrong(fmt::format("more than {} rows; split the file", kMaxSeriesRows));
    file_.gaps += std::isnan(*value) ? 1 : 0;
    file_.rows.push_back(file_.values.size());
    file_.values.push_back(*value);
    if (!time_) return {};
    file_.times.push_back(cells[*time_]);
    const auto seconds = parse_series_time(cells[*time_]);
    timed_ = timed_ && seconds.has_value();
    seconds_.push_back(seconds.value_or(kGap));
    return {};
  }
  // Sorts rows that go back in time, and adds notes about gaps, repeated and backward times.
  void finish() {
    if (!time_ || seconds_.empty()) return;
    if (!timed_) {
      file_.notes.emplace_back("times are no numbers and no dates: taken in the order of the file");
      return;
    }
    std::size_t backward = 0;
    std::size_t repeated = 0;
    std::size_t long_gaps = 0;
    for (std::size_t i = 1; i < seconds_.size(); ++i) {
      backward += seconds_[i] < seconds_[i - 1] ? 1 : 0;
      repeated += seconds_[i] == seconds_[i - 1] ? 1 : 0;
      long_gaps +=
          is_calendar_time(file_.times[i]) && seconds_[i] - seconds_[i - 1] > kLongGapSeconds;
    }
    // Each oddity is one note; the series is read nevertheless.
    if (repeated > 0)
      file_.notes.push_back(
          fmt::format("{} rows repeat the time before them: each is a run", repeated));
    if (long_gaps > 0)
      file_.notes.push_back(
          fmt::format("{} gaps of more than 30 days: runs are taken in a row", long_gaps));
    if (backward == 0) return;
    file_.notes.push_back(fmt::format(
        "{} rows go back in time: taken in the order of time, indices are rows of the file",
        backward));
    // Rows with equal times keep the order of the file.
    std::ranges::stable_sort(file_.rows, {}, [&](std::size_t row) { return seconds_[row]; });
    std::vector<double> values;
    std::vector<std::string> times;
    values.reserve(file_.rows.size());
    times.reserve(file_.rows.size());
    for (const std::size_t row : file_.rows) {
      values.push_back(file_.values[row]);
      times.push_back(std::move(file_.times[row]));
    }
    file_.values = std::move(values);
    file_.times = std::move(times);
  }
  // An error with file and line, as compilers write it.
  [[nodiscard]] Status wrong(std::string_view what) const {
    return fail(Code::kInvalidArgument, fmt::format("{}:{}: {}", name_, line_, what));
  }

  std::istream& in_;
  const std::string& name_;
  std::size_t line_ = 0;
  char separator_ = ',';
  std::size_t columns_ = 0;  // 0: not known yet
  std::size_t value_ = 0;
  std::optional<std::size_t> time_;
  std::size_t blank_ = 0;  // empty lines that are gaps if anything follows
  std::vector<double> seconds_;
  bool timed_ = true;  // every row so far has a time that can be ordered
  SeriesFile file_;
};

}  // namespace

// Reads line by line, so that a file is in memory only as numbers; kMaxSeriesRows bounds them.
Result<SeriesFile> read_series(std::istream& in, const std::string& name) {
  return Reader(in, name).read();
}

// A plain number first: it may be in any unit that grows with time.
std::optional<double> parse_series_time(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc{} && end == text.data() + text.size())
    return std::isfinite(value) ? std::optional(value) : std::nullopt;
  return parse_calendar(text);
}

bool is_calendar_time(std::string_view text) { return parse_calendar(text).has_value(); }

}  // namespace railgauge::cli
