// Reads the files of a node, or of a tree that simulates one, each into a fact: bounded in size,
// never waiting at a pipe, with the reason when something was not read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/inventory/facts/inventory.h"

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
// "0x1f" or "31". False for anything else.
bool parse_number(std::string_view text, std::uint64_t& number);

}  // namespace railgauge::agent
