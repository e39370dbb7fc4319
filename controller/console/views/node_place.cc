#include "controller/console/views/node_place.h"

#include <algorithm>
#include <array>

namespace railgauge::console {
namespace {

constexpr std::array<std::string_view, 5> kOrders{"fabric", "pod", "slot", "name", "worst"};
// A number of more digits sorts as text.
constexpr std::size_t kDigits = 20;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Numbers with leading zeros, so that "s2" is before "s10".
std::string sort_key(std::string_view text) {
  if (text.empty()) return "~";  // after all letters and digits
  std::string key;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && is_digit(text[end])) ++end;
    if (end - at < kDigits && end > at) key.append(kDigits - (end - at), '0');
    end = std::max(end, at + 1);
    key.append(text.substr(at, end - at));
    at = end;
  }
  return key;
}

}  // namespace

bool is_order(std::string_view word) { return std::ranges::find(kOrders, word) != kOrders.end(); }

// Other orders need no labels, which are read for these alone.
bool is_by_place(std::string_view order) { return order == "pod" || order == "slot"; }

NodePlace place_of_row(const NodePlaces& places, std::string_view row) {
  const auto found = places.find(row.substr(0, row.find(' ')));
  return found == places.end() ? NodePlace{} : found->second;
}

std::vector<std::string> place_keys(std::string_view order, const NodePlace& place,
                                    std::string_view leaf) {
  std::string pod = sort_key(place.pod);
  std::string slot = sort_key(place.slot);
  if (order == "pod") return {std::move(pod), sort_key(leaf), std::move(slot)};
  return {std::move(slot), std::move(pod), sort_key(leaf)};
}

}  // namespace railgauge::console
