// The numbers in the header of our database files.
#pragma once

#include <cstdint>

namespace railgauge::store {

inline constexpr std::int64_t kApplicationId = 0x52474744;  // "RGGD"
// All data in the file is modelled; programs before this number refuse the file.
inline constexpr std::int64_t kSyntheticApplicationId = 0x52474753;  // "RGGS"

}  // namespace railgauge::store
