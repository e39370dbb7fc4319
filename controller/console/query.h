// The query of a URL as a request message: the parameters are the fields, by the names of the
// contract. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <google/protobuf/message.h>

#include "kernels/core/base/result.h"

namespace railgauge::console {

using Query = std::multimap<std::string, std::string>;

// The largest `limit` of a list.
inline constexpr std::uint32_t kMostRows = 10'000;

// Fills the fields of `request` that the query names. Fields of messages inside it are parameters
// like its own. kInvalidArgument: an unknown or repeated parameter, a text that is no value of the
// field, or a `limit` above kMostRows.
Status fill_request(const Query& query, google::protobuf::Message& request);

}  // namespace railgauge::console
