// Where nodes are in the fabric, as labels say it, and the orders of a matrix that follow from it.
// Pure; thread safe.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/api/console.pb.h"

namespace railgauge::console {

// The labels `pod` and `slot` of a node; "": it has none.
struct NodePlace {
  std::string pod{};
  std::string slot{};
};
// By node name.
using NodePlaces = std::map<std::string, NodePlace, std::less<>>;

// The words of the orders, for messages: "fabric, pod, slot, name or worst".
inline constexpr std::string_view kOrderWords = "fabric, pod, slot, name or worst";
bool is_order(std::string_view word);
// Reports whether the order needs the places of the nodes.
bool is_by_place(std::string_view order);

// The place of a row: of a GPU ("n1 gpu3") that of its host. Empty where it is not known.
NodePlace place_of_row(const NodePlaces& places, std::string_view row);

// Returns the texts by which rows are sorted in an order by place: "pod" is pod, leaf and slot,
// "slot" is slot, pod and leaf. Numbers sort by value, and what is not known comes last.
std::vector<std::string> place_keys(std::string_view order, const NodePlace& place,
                                    std::string_view leaf);

}  // namespace railgauge::console
