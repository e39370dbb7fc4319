// Shared by reports that compare figures: the parameters that distinguish them, and their text.
// Pure.
#pragma once

#include <map>
#include <ranges>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <google/protobuf/repeated_ptr_field.h>

#include "controller/api/control.pb.h"
#include "kernels/core/base/lookup.h"

namespace railgauge::cli {

using Parameters = std::vector<std::pair<std::string, std::string>>;

// Returns the point's parameters by name, without parameters of effort (length and precision of the
// measurement), without the sizes and without `but`.
Parameters telling_parameters(const api::ResultPoint& point, const std::string& but);
// Returns the same parameters of a task, which includes parameters at their defaults.
Parameters telling_parameters(const api::TaskDetail& task, const std::string& but);

// An entry about the point's figure: the fields that distinguish it, and its unit.
template <class Entry>
Entry entry_for(const api::ResultPoint& point, const Parameters& parameters) {
  Entry entry;
  entry.set_run_id(point.run_id());
  entry.set_kernel(point.kernel());
  entry.set_metric(point.point().metric());
  entry.set_message_bytes(point.point().message_bytes());
  entry.set_unit(point.point().unit());
  entry.mutable_parameters()->insert(parameters.begin(), parameters.end());
  if constexpr (requires { entry.pair(); }) {
    entry.set_meaning(point.point().meaning());
    entry.set_pair(point.point().pair());
  }
  if constexpr (requires { entry.endpoints(); }) *entry.mutable_endpoints() = point.endpoints();
  return entry;
}

// Returns a text that is unique for each figure of each revision of a kernel.
std::string key_of(const api::ResultPoint& point, const google::protobuf::Message& entry);

// The items by key, in the order in which the keys appear; items with the key "" are left out.
template <class Items, class KeyOf>
auto grouped(const Items& items, KeyOf key_of) {
  std::vector<std::vector<const std::ranges::range_value_t<Items>*>> groups;
  std::map<std::string, std::size_t> places;
  for (const auto& item : items) {
    const std::string key = key_of(item);
    if (key.empty()) continue;
    const auto [place, is_new] = places.try_emplace(key, groups.size());
    if (is_new) groups.emplace_back();
    groups[place->second].push_back(&item);
  }
  return groups;
}

// Returns value and unit for people: "55.60 GB/s".
std::string value_text(double value, const std::string& unit);

// Calls `take` with each message, which has `kernel` and `parameters`, and with the parameters that
// are not the same in all messages of its kernel: "direction h2d, numa far".
template <class Message, class Take>
void for_each_compared(const google::protobuf::RepeatedPtrField<Message>& messages, Take take) {
  using Name = std::pair<std::string, std::string>;  // kernel and parameter
  std::map<Name, std::string> first;
  std::set<Name> told;
  for (const Message& message : messages)
    for (const auto& [name, value] : message.parameters()) {
      const Name key(message.kernel(), name);
      if (first.try_emplace(key, value).first->second != value) told.insert(key);
    }
  for (const Message& message : messages) {
    std::string text;
    for (const auto& [kernel, name] : told)
      if (kernel == message.kernel() && message.parameters().contains(name))
        text += (text.empty() ? "" : ", ") + name + " " + message.parameters().at(name);
    take(message, text);
  }
}

}  // namespace railgauge::cli
