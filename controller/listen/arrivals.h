// A set of connections in the order of their arrival, each with its source: those that wait for
// their first bytes, and those of gRPC by their state. A bound in all and one a source decide which
// connection is closed for the next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace railgauge {

// Knows no socket and no clock. Not thread safe.
class Arrivals {
 public:
  struct Bounds {
    std::size_t most = std::numeric_limits<std::size_t>::max();  // in all
    std::size_t most_of_a_source = std::numeric_limits<std::size_t>::max();
    double seconds = std::numeric_limits<double>::infinity();  // until expired() returns it
  };
  explicit Arrivals(Bounds bounds) : bounds_(bounds) {}

  // Enters a connection, as the newest also when it is here already. `now` never falls. Returns a
  // connection that has left for it: the oldest of the source when the source exceeds its bound,
  // else the oldest of the biggest source when all exceed theirs.
  std::optional<std::uint64_t> enter(std::uint64_t id, const std::string& source, double now);
  // Removes a connection. False: it is not here.
  bool leave(std::uint64_t id);
  // Removes and returns the oldest connection of the biggest source; of equal sources that of the
  // older connection. Absent: nobody is here.
  std::optional<std::uint64_t> shed();
  // Removes and returns every connection that is here for `seconds` or longer.
  std::vector<std::uint64_t> expired(double now);

  // Seconds from `now` to the next that expires, at least 0; absent when nobody is here.
  [[nodiscard]] std::optional<double> next_expiry(double now) const;
  [[nodiscard]] std::size_t size() const { return where_.size(); }
  [[nodiscard]] std::size_t size_of(const std::string& source) const;
  // The source with the most connections; "" when nobody is here.
  [[nodiscard]] std::string biggest_source() const;

 private:
  struct Entry {
    std::uint64_t id = 0;
    double since = 0;
    std::string source{};
  };
  using Queue = std::list<Entry>;  // oldest first
  struct Place {
    Queue::iterator in_all;
    std::list<Queue::iterator>::iterator in_source;
  };
  using Sources = std::map<std::string, std::list<Queue::iterator>>;

  [[nodiscard]] Sources::const_iterator biggest() const;
  std::uint64_t remove(Queue::iterator entry);

  Bounds bounds_;
  Queue queue_;
  Sources sources_;  // each oldest first; never empty
  std::unordered_map<std::uint64_t, Place> where_;
};

}  // namespace railgauge
