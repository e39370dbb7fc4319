#include "agent/preflight/rules/version.h"

#include <algorithm>
#include <cstddef>

namespace railgauge::agent {
namespace {
constexpr unsigned kMaxPart = 100'000'000;  // of nonsense: no overflow
bool is_digit(char c) { return c >= '0' && c <= '9'; }
}  // namespace

std::vector<unsigned> version_of(std::string_view text) {
  std::vector<unsigned> parts;
  const auto begin = std::ranges::find_if(text, is_digit);
  bool in_number = false;
  for (auto it = begin; it != text.end(); ++it) {
    if (is_digit(*it)) {
      if (!in_number) parts.push_back(0);
      in_number = true;
      parts.back() = std::min(parts.back() * 10 + static_cast<unsigned>(*it - '0'), kMaxPart);
    } else if (*it == '.' && in_number) {
      in_number = false;
    } else {
      break;
    }
  }
  return parts;
}

bool at_least(std::string_view text, std::string_view least) {
  std::vector<unsigned> have = version_of(text);
  std::vector<unsigned> need = version_of(least);
  if (have.empty()) return false;
  const std::size_t size = std::max(have.size(), need.size());
  have.resize(size);
  need.resize(size);
  return have >= need;
}

}  // namespace railgauge::agent
