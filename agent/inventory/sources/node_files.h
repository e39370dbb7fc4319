// Reads the files of a node, or of a tree that simulates one, each into a fact: bounded in size,
// never waiting at a pipe, with the reason when something was not read.
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

  // Paths are the node's own ("/sys/class/net"); this one is where the file really is.
  [[nodiscard]] std::string on_disk(const std::string& path) const;
  // Separates one tree from another.
  [[nodiscard]] std::string place() const { return root_ + sysfs_ + proc_; }
  // The machine that we run on, not a tree of files.
  [[nodiscard]] bool is_this_machine() const { return root_.empty() && sysfs_.empty(); }

  // The whole file. More than `most` bytes or no UTF-8 is an error, no permission unknown, no such
  // file (or a device that has no such thing: ENODEV, EOPNOTSUPP) absent.
  [[nodiscard]] Fact<std::string> text(const std::string& path,
                                       std::size_t most = kMostTextBytes) const;
  // As it is, also when it is no text.
  [[nodiscard]] Fact<std::string> bytes(const std::string& path,
                                        std::size_t most = kMostLineBytes) const;
  // Its first line without blanks at both ends.
  [[nodiscard]] Fact<std::string> line(const std::string& path) const;
  // Decimal, or hexadecimal behind "0x". Another text is an error.
  [[nodiscard]] Fact<std::uint64_t> number(const std::string& path) const;
  [[nodiscard]] Fact<std::uint32_t> small(const std::string& path) const;
  // Last part of where a link points.
  [[nodiscard]] Fact<std::string> link(const std::string& path) const;
  // The names in a folder, sorted. No folder is absent, a refused one unknown; a path that is no
  // folder, loops or holds more than `most` is an error, with the names seen.
  [[nodiscard]] NameList list(const std::string& path, std::size_t most = kMostNames) const;
  // The same where it does not matter why there are none.
  [[nodiscard]] std::vector<std::string> names(const std::string& path,
                                               std::size_t most = kMostNames) const {
    return list(path, most).value;
  }
  [[nodiscard]] bool is_file(const std::string& path) const;
  [[nodiscard]] bool exists(const std::string& path) const;
  [[nodiscard]] Fact<double> modified_unix_seconds(const std::string& path) const;
  // Calls with each line, without keeping the file, until it says false. Lines that are longer than
  // kMostLineBytes are left out; what is behind `most` bytes is an error. The value says whether
  // all was seen.
  [[nodiscard]] Fact<bool> lines(const std::string& path, std::size_t most,
                                 const std::function<bool(std::string_view)>& each) const;

 private:
  std::string root_;
  std::string sysfs_;
  std::string proc_;
};

std::string_view trimmed(std::string_view text);
// Fields between blanks; at most `most`.
std::vector<std::string_view> fields_of(std::string_view line, std::size_t most = 64);
// The lines of a text without their ends.
std::vector<std::string_view> lines_in(std::string_view text);
// The texts before and behind the first `mark`, without blanks; nothing where there is none.
using Halves = std::pair<std::string_view, std::string_view>;
std::optional<Halves> split_at(std::string_view line, char mark);
// "0x1f" or "31"; nothing for anything else.
std::optional<std::uint64_t> number_in(std::string_view text);
// 16 of "16.0 GT/s PCIe" with the unit " GT/s".
std::optional<double> amount_in(std::string_view text, std::string_view unit);

// A value from a file that was read; absent if the file has none.
template <class T>
Fact<T> or_absent(const FactInfo& read, const T& value) {
  if (!read.is_known()) return {read, T{}};
  return value == T{} ? Fact<T>::absent(read.source) : Fact<T>::known(value, read.source);
}

// A known text as `parse` reads it, which returns nothing for what is no `what`: an error then.
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
