#include "controller/listen/arrivals.h"

#include <algorithm>

namespace railgauge {

std::optional<std::uint64_t> Arrivals::enter(std::uint64_t id, const std::string& source,
                                             double now) {
  leave(id);
  queue_.push_back({.id = id, .since = now, .source = source});
  const auto entry = std::prev(queue_.end());
  auto& of_source = sources_[source];
  of_source.push_back(entry);
  where_[id] = {.in_all = entry, .in_source = std::prev(of_source.end())};
  if (of_source.size() > bounds_.most_of_a_source) return remove(of_source.front());
  if (where_.size() > bounds_.most) return shed();
  return std::nullopt;
}

bool Arrivals::leave(std::uint64_t id) {
  const auto place = where_.find(id);
  if (place == where_.end()) return false;
  remove(place->second.in_all);
  return true;
}

std::optional<std::uint64_t> Arrivals::shed() {
  const auto source = biggest();
  if (source == sources_.end()) return std::nullopt;
  return remove(source->second.front());
}

std::vector<std::uint64_t> Arrivals::expired(double now) {
  std::vector<std::uint64_t> ids;
  while (!queue_.empty() && now - queue_.front().since >= bounds_.seconds)
    ids.push_back(remove(queue_.begin()));
  return ids;
}

std::optional<double> Arrivals::next_expiry(double now) const {
  if (queue_.empty()) return std::nullopt;
  return std::max(0.0, queue_.front().since + bounds_.seconds - now);
}

std::size_t Arrivals::size_of(const std::string& source) const {
  const auto found = sources_.find(source);
  return found == sources_.end() ? 0 : found->second.size();
}

std::string Arrivals::biggest_source() const {
  const auto source = biggest();
  return source == sources_.end() ? "" : source->first;
}

// A linear search: there are at most as many sources as connections, and those are few.
Arrivals::Sources::const_iterator Arrivals::biggest() const {
  return std::max_element(sources_.begin(), sources_.end(), [](const auto& a, const auto& b) {
    if (a.second.size() != b.second.size()) return a.second.size() < b.second.size();
    return a.second.front()->since > b.second.front()->since;
  });
}

std::uint64_t Arrivals::remove(Queue::iterator entry) {
  const std::uint64_t id = entry->id;
  const auto place = where_.find(id);
  const auto source = sources_.find(entry->source);
  source->second.erase(place->second.in_source);
  if (source->second.empty()) sources_.erase(source);
  where_.erase(place);
  queue_.erase(entry);
  return id;
}

}  // namespace railgauge
