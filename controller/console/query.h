// A request of HTTP as a message: parameters of its URL and keys of its JSON are the fields, by the
// names of the contract. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

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

// Fills `request` from the JSON of a body, and its field `name` ("": none) with `value`, which the
// path has: the body may repeat it. kInvalidArgument: the text is no such object, has an unknown
// key, or names another value.
Status fill_from_json(const std::string& json, const std::string& name, const std::string& value,
                      google::protobuf::Message& request);

// Whether `path` is one of `pattern`, which may have a part in braces: the name of a field, whose
// value the path has there.
bool fits_path(std::string_view pattern, std::string_view path, std::string& field,
               std::string& value);

}  // namespace railgauge::console
