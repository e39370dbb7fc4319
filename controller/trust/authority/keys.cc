#include "controller/trust/authority/keys.h"

#include <algorithm>
#include <set>
#include <string>

#include <fmt/format.h>

#include "kernels/core/text/text.h"

namespace railgauge::trust {
namespace {

bool is_of_digits(std::string_view text, std::string_view digits) {
  return !text.empty() && text.find_first_not_of(digits) == std::string_view::npos;
}

}  // namespace

// A later line of one serial number counts, as of a file that was written twice.
ReadKeys parse_keys(std::string_view text) {
  constexpr std::size_t kDigestDigits = 64;
  ReadKeys read;
  int number = 0;
  for (std::string_view line : split_lines(text)) {
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);  // an editor of another system
    const std::size_t blank = std::min(line.find(' '), line.size());
    const std::string_view serial = line.substr(0, blank);
    const std::string_view digest = line.substr(std::min(blank + 1, line.size()));
    if (!is_of_digits(serial, "0123456789ABCDEF") || digest.size() != kDigestDigits ||
        !is_of_digits(digest, "0123456789abcdef"))
      read.damaged.push_back(fmt::format("line {}: no serial number and key", number));
    else
      read.keys.insert_or_assign(std::string(serial), std::string(digest));
  }
  return read;
}

void drop_ended(CertificateKeys& keys, const std::vector<IndexEntry>& index, double now_unix) {
  const auto is_long_gone = [now_unix](const IndexEntry& entry) {
    return entry.revoked_unix == 0 && entry.until_unix + kKeptSeconds < now_unix;
  };
  std::set<std::string> used;
  for (const IndexEntry& entry : index)
    if (const auto found = keys.find(entry.serial); found != keys.end() && !is_long_gone(entry))
      used.insert(found->second);
  for (const IndexEntry& entry : index)
    if (const auto found = keys.find(entry.serial);
        found != keys.end() && is_long_gone(entry) && !used.contains(found->second))
      keys.erase(found);
}

// Sorted by serial number, so that equal keys are equal bytes.
std::string keys_text(const CertificateKeys& keys) {
  std::string text;
  for (const auto& [serial, digest] : keys) text += fmt::format("{} {}\n", serial, digest);
  return text;
}

// A serial number without a line has a key of its own.
bool have_one_key(const CertificateKeys& keys, std::string_view serial, std::string_view other) {
  const auto one = keys.find(serial);
  const auto two = keys.find(other);
  return one != keys.end() && two != keys.end() && one->second == two->second;
}

}  // namespace railgauge::trust
