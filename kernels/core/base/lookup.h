// Reads of maps that need no iterator. Pure.
#pragma once

#include <utility>

namespace railgauge {

// Returns a copy of the key's value, or `otherwise` when the map lacks the key.
template <class Map>
typename Map::mapped_type value_of(const Map& map, const auto& key,
                                   typename Map::mapped_type otherwise = {}) {
  const auto found = map.find(key);
  return found == map.end() ? std::move(otherwise) : found->second;
}

}  // namespace railgauge
