// Shared by reports that compare figures: the parameters that distinguish them, and their text.
// Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <google/protobuf/repeated_ptr_field.h>

#include "controller/api/control.pb.h"

namespace railgauge::cli {

using Parameters = std::vector<std::pair<std::string, std::string>>;

// The point's parameters, by name, but for those that say how long and how precisely was measured,
// for the sizes, and for `but`.
Parameters telling_parameters(const railgauge::api::ResultPoint& point, const std::string& but);
// The same of a task, which has those that are at their defaults too.
Parameters telling_parameters(const railgauge::api::TaskDetail& task, const std::string& but);

// Value and unit as people read them: "55.60 GB/s".
std::string value_text(double value, const std::string& unit);

// For each message with `kernel` and `parameters`, the parameters that are not the same in all
// messages of its kernel: "direction h2d, numa far".
template <class Message>
std::vector<std::string> differing_parameters(
    const google::protobuf::RepeatedPtrField<Message>& messages) {
  using Name = std::pair<std::string, std::string>;  // kernel and parameter
  std::map<Name, std::string> first;
  std::set<Name> told;
  for (const Message& message : messages)
    for (const auto& [name, value] : message.parameters()) {
      const Name key(message.kernel(), name);
      if (first.try_emplace(key, value).first->second != value) told.insert(key);
    }
  std::vector<std::string> out;
  for (const Message& message : messages) {
    std::string& text = out.emplace_back();
    for (const auto& [kernel, name] : told)
      if (kernel == message.kernel() && message.parameters().contains(name))
        text += (text.empty() ? "" : ", ") + name + " " + message.parameters().at(name);
  }
  return out;
}

}  // namespace railgauge::cli
