// Readers of a node's files, or of a tree that simulates a node, each into a fact. Bounded in size;
// never waits at a pipe; an unread file has its reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "agent/inventory/facts/inventory.h"
#include "kernels/core/text/text.h"

namespace railgauge::agent {

inline constexpr std::size_t kMostLineBytes = 4096;
inline constexpr std::size_t kMostTextBytes = 256U << 10U;
inline constexpr std::size_t kMostNames = 4096;

using NameList = Fact<std::vector<std::string>>;

class NodeFiles {
 public:
  explicit NodeFiles(const InventoryOptions& options)
      : root_(options.root), sysfs_(options.sysfs), proc_(options.proc) {}

  // Returns the real path of a node's path ("/sys/class/net").
  [[nodiscard]] std::string on_disk(const std::string& path) const;
  // Returns a name of the tree, different for different trees.
  [[nodiscard]] std::string place() const { return root_ + sysfs_ + proc_; }
  // Whether this is the machine itself, not a tree of files.
  [[nodiscard]] bool is_this_machine() const { return root_.empty() && sysfs_.empty(); }

  // Reads the whole file. Error: more than `most` bytes, or no UTF-8. Unknown: no permission.
  // Absent: no such file, or the device lacks the attribute (ENODEV, EOPNOTSUPP).
  [[nodiscard]] Fact<std::string> text(const std::string& path,
                                       std::size_t most = kMostTextBytes) const;
  // Does the same without the check for UTF-8.
  [[nodiscard]] Fact<std::string> bytes(const std::string& path,
                                        std::size_t most = kMostLineBytes) const;
  // Reads the first line, without blanks at both ends.
  [[nodiscard]] Fact<std::string> line(const std::string& path) const;
  // Reads a number, decimal or hexadecimal behind "0x". Error: any other text.
  [[nodiscard]] Fact<std::uint64_t> number(const std::string& path) const;
  [[nodiscard]] Fact<std::uint32_t> small(const std::string& path) const;
  // Reads the last component of a link's target.
  [[nodiscard]] Fact<std::string> link(const std::string& path) const;
  // Lists the names in a folder, sorted. Absent: no folder. Unknown: no permission. Error, with the
  // names seen: the path is no folder, loops, or has more than `most` names.
  [[nodiscard]] NameList list(const std::string& path, std::size_t most = kMostNames) const;
  // Lists the names when the reason of an empty list does not matter.
  [[nodiscard]] std::vector<std::string> names(const std::string& path,
                                               std::size_t most = kMostNames) const {
    return list(path, most).value;
  }
  [[nodiscard]] bool is_file(const std::string& path) const;
  [[nodiscard]] bool exists(const std::string& path) const;
  [[nodiscard]] Fact<double> modified_unix_seconds(const std::string& path) const;
  // Calls `each` with each line until it returns false; holds one chunk of the file at a time.
  // Skips lines longer than kMostLineBytes. The value is true when the end was reached. Error: the
  // file is longer than `most` bytes.
  [[nodiscard]] Fact<bool> lines(const std::string& path, std::size_t most,
                                 const std::function<bool(std::string_view)>& each) const;

 private:
  std::string root_;
  std::string sysfs_;
  std::string proc_;
};

std::string_view trimmed(std::string_view text);
// Returns the fields between blanks, at most `most`.
std::vector<std::string_view> fields_of(std::string_view line, std::size_t most = 64);
// Returns the lines of a text without their line ends.
std::vector<std::string_view> lines_in(std::string_view text);
// The texts before and behind the first `mark`, without blanks at their ends; absent without a
// `mark`.
using Halves = std::pair<std::string_view, std::string_view>;
std::optional<Halves> split_at(std::string_view line, char mark);
// Parses "0x1f" or "31"; absent for any other text.
std::optional<std::uint64_t> number_in(std::string_view text);
// Parses the amount in front of `unit`: 16 for "16.0 GT/s PCIe" and " GT/s".
std::optional<double> amount_in(std::string_view text, std::string_view unit);

// Returns `value` as a fact of the file `read`: absent if it equals T{}, else known.
template <class T>
Fact<T> or_absent(const FactInfo& read, const T& value) {
  if (!read.is_known()) return {read, T{}};
  return value == T{} ? Fact<T>::absent(read.source) : Fact<T>::known(value, read.source);
}

// Converts a known text by `parse`. Error: `parse` returns nothing; the reason calls the text no
// `what`.
template <class Parse>
auto parsed(const Fact<std::string>& text, std::string_view what, Parse parse) {
  using T = typename std::invoke_result_t<Parse, const std::string&>::value_type;
  if (!text.is_known()) return text.without_value<T>();
  if (std::optional<T> value = parse(text.value))
    return Fact<T>::known(std::move(*value), text.source);
  return Fact<T>::error(text.source,
                        fmt::format("{}: {} is no {}", text.source, in_quotes(text.value), what));
}

}  // namespace railgauge::agent
